"""The demo model: real answers through the official clients of every surface, whole and streamed, greedy."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from mlxp_demo.plugin import FOLDER

WEATHER = {
    "name": "get_weather",
    "description": "Get the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
LIGHT = {
    "name": "switch_light",
    "description": "Switch a light on or off.",
    "parameters": {
        "type": "object",
        "properties": {"room": {"type": "string"}, "state": {"type": "string", "enum": ["on", "off"]}},
        "required": ["room", "state"],
    },
}
TIMER = {
    "name": "set_timer",
    "description": "Set a timer.",
    "parameters": {
        "type": "object",
        "properties": {"minutes": {"type": "integer"}},
        "required": ["minutes"],
    },
}
SEVERAL = 4


@pytest.fixture(scope="module")
def demo(live):
    """A server of the demo model."""
    with live(FOLDER) as served:
        yield served


@pytest.fixture(scope="module")
def talkers(demo, clients):
    return clients(demo.url)


@pytest.fixture
def own(talkers, surface):
    return talkers[surface]


@pytest.fixture
def ask(own, stream):
    """Ask; thinking is off unless it is wanted."""

    def answer(turns, *, stream=stream, thinking=False, limit=200, **asked):
        turns = own.user(turns) if isinstance(turns, str) else turns
        return own.ask(turns, stream=stream, thinking=thinking, limit=limit, **asked)

    return answer


def calls_of(answer):
    return [(name, json.loads(arguments)) for _, name, arguments in answer.calls]


def test_it_greets_and_says_what_it_is(ask):
    assert "demo model of mlxp" in ask("Hello!").text
    assert "demo model of mlxp" in ask("Who are you?").text


def test_it_knows_how_mlxp_is_used(ask):
    assert "mlxp get" in ask("How do I get a real model?").text


def test_it_knows_a_fact(ask):
    assert ask("What is the capital of France?").text == "The capital of France is Paris."


def test_a_round_trip_through_two_tools(ask, own):
    tools = [WEATHER, LIGHT]
    turns = own.user("What is the weather in Madrid?")
    first = ask(turns, tools=tools)
    assert (calls_of(first), first.reason) == ([("get_weather", {"city": "Madrid"})], "calls")
    turns += [*own.again(first), *own.results(first, '{"temperature": 21}')]
    second = ask(turns, tools=tools)
    assert (second.text, second.calls, second.reason) == ("The temperature is 21.", [], "stop")
    turns += [*own.again(second), *own.user("Switch the light in the kitchen off.")]
    third = ask(turns, tools=tools)
    assert (calls_of(third), third.reason) == (
        [("switch_light", {"room": "kitchen", "state": "off"})],
        "calls",
    )
    turns += [*own.again(third), *own.results(third, '{"result": "done"}')]
    last = ask(turns, tools=tools)
    assert "done" in last.text
    assert (last.calls, last.reason) == ([], "stop")


def test_two_calls_in_one_turn(ask):
    answer = ask("What is the weather in Madrid and what is the weather in Rome?", tools=[WEATHER])
    assert calls_of(answer) == [("get_weather", {"city": "Madrid"}), ("get_weather", {"city": "Rome"})]


def test_a_number_is_a_number(ask):
    assert calls_of(ask("Set a timer for 12 minutes.", tools=[WEATHER, TIMER])) == [
        ("set_timer", {"minutes": 12})
    ]


def test_it_thinks_before_a_call(ask):
    answer = ask("What is the weather in Paris?", tools=[WEATHER], thinking=True)
    assert answer.thinking == "get_weather fits: city is Paris"
    assert calls_of(answer) == [("get_weather", {"city": "Paris"})]


def test_it_calls_nothing_to_say_hello(ask):
    answer = ask("Hello!", tools=[WEATHER])
    assert (answer.calls, answer.reason) == ([], "stop")


def test_it_thinks_when_it_shall(ask):
    answer = ask("What is the capital of France?", thinking=True)
    assert answer.thinking
    assert "Paris" in answer.text
    assert 0 < answer.thought < answer.completion


def test_it_writes_json(ask):
    assert json.loads(ask("Write as JSON: name is Anna, age 31").text) == {"name": "Anna", "age": 31}


def test_it_remembers_what_it_was_told(ask, own):
    turns = own.user("My name is Anna.")
    turns += [*own.again(ask(turns)), *own.user("What is my name?")]
    assert "Anna" in ask(turns).text


def test_neighbours_change_nothing(ask):
    asked = ["Hello!", "Who are you?", "What is the capital of Italy?", "Write as JSON: name is Anna, age 31"]
    alone = [ask(each).text for each in asked]
    with ThreadPoolExecutor(SEVERAL) as pool:
        assert list(pool.map(lambda each: ask(each).text, asked)) == alone
    assert len(set(alone)) == len(asked)


def test_who_hangs_up_leaves_room_for_others(live, official):
    with live(FOLDER, flags={"engine": {"batch": 1}}) as served:
        client = official(served.url)
        asked = {
            "model": "",
            "messages": [{"role": "user", "content": "How do I install mlxp?"}],
            "temperature": 0,
        }
        with client.chat.completions.create(stream=True, **asked) as chunks:
            next(iter(chunks))
        whole = client.chat.completions.create(**asked)
    assert whole.choices[0].message.content.startswith("Run pip install mlxp-server")
    assert whole.choices[0].finish_reason == "stop"
