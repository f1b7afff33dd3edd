"""Whole conversations with checkpoints that say what a script has them say: calls, thinking, reasons; on every surface.

A pick in a message selects the script, wherever the server really puts that message into the prompt. So an answer
tells which parts of the conversation reached the model.
"""

import json

import pytest

from mlxp_core.errors import UnsupportedModel

WEATHER = {
    "name": "weather",
    "description": "Look it up.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
LODZ = {"city": 'Łódź & "Zgierz" <b>', "days": 2}
NICE = {"city": "Nice"}


def minicpm5(name, arguments):
    guarded = [f'<param name="{key}"><![CDATA[{value}]]></param>' for key, value in arguments.items()]
    return f'<function name="{name}">{"".join(guarded)}</function>'


def qwen35(name, arguments):
    given = [f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items()]
    return f"<tool_call>\n<function={name}>\n{''.join(given)}</function>\n</tool_call>"


def gemma4(name, arguments):
    given = [
        f'{key}:<|"|>{value}<|"|>' if isinstance(value, str) else f"{key}:{value}"
        for key, value in arguments.items()
    ]
    return f"<|tool_call>call:{name}{{{','.join(given)}}}<tool_call|>"


FAMILIES = {
    "minicpm5": (minicpm5, "why not\n</think>\n\n", ""),
    "qwen35": (qwen35, "why not\n</think>\n\n", ""),
    "gemma4": (gemma4, "<|channel>thought\nwhy not\n<channel|>", "why not\n<channel|>"),
}
"""How each family writes a call, the thought that its prompt asks for, and what is left of it behind a result."""

HELLO, CALL, CALLS, SUNNY, MORE_CALLS, AT_LAST, NO_TOOL, ENDLESS, NATURAL, SPLIT = range(10)


@pytest.fixture(scope="module", params=FAMILIES)
def puppet(request, puppets, live, tmp_path_factory, clients):
    """The clients of a server whose model says what these scripts say."""
    call, thought, rest = FAMILIES[request.param]
    both = call("weather", LODZ) + call("weather", NICE)
    scripts = {
        HELLO: [puppets.Words("Hello there, you.")],
        CALL: [puppets.Words("Let me see. "), puppets.Cut(call("weather", LODZ), 2)],
        CALLS: [puppets.Cut(both, 3)],
        SUNNY: [puppets.Words("Sunny in both.")],
        MORE_CALLS: [puppets.Cut(rest + both, 3)],
        AT_LAST: [puppets.Cut(rest + "Sunny in both.", 5)],
        NO_TOOL: [puppets.Cut(call("volcano", NICE), 4)],
        NATURAL: [puppets.Natural("One, two, three, four.")],
        SPLIT: [
            "So ",
            "Ł".encode()[:1],
            "Ł".encode()[1:],
            "👩‍👧".encode()[:5],
            "👩‍👧".encode()[5:],
            " it is.",
        ],
    }
    told = {
        number: puppets.Script(said, when_open=[puppets.Cut(thought, 1)]) for number, said in scripts.items()
    }
    told[ENDLESS] = puppets.Script([puppets.Words(" and on")], loop=True)
    folder = tmp_path_factory.mktemp("puppets") / request.param
    puppets.make(request.param, [told[number] for number in sorted(told)], folder)
    try:
        with live(folder) as served:
            yield clients(served.url)
    except UnsupportedModel:
        pytest.skip(f"no plugin serves {request.param}")


@pytest.fixture
def ask(puppet, surface, stream, puppets):
    """Ask with a script in mind, thinking off unless it is wanted."""

    def answer(script=HELLO, turns=None, *, thinking=False, limit=400, stream=stream, **asked):
        own = puppet[surface]
        turns = turns or own.user(f"Please {pick(puppets, script)}")
        return own.ask(turns, stream=stream, thinking=thinking, limit=limit, **asked)

    return answer


def pick(puppets, script):
    return puppets.pick_char(script) if script else ""


def test_an_answer_is_its_script(ask):
    answer = ask(HELLO)
    assert (answer.text, answer.thinking, answer.reason) == ("Hello there, you.", "", "stop")


@pytest.mark.parametrize("hot", [False, True])
def test_characters_cut_across_tokens_are_whole(ask, puppet, surface, hot):
    drawn = {"temperature": puppet[surface].hottest, "seed": 1} if hot else {}
    assert ask(SPLIT, **drawn).text == "So Ł👩‍👧 it is."


def test_thinking_on_and_off(ask):
    answer = ask(HELLO, thinking=True)
    assert (answer.text, answer.thinking) == ("Hello there, you.", "why not")
    assert 0 < answer.thought < answer.completion
    assert ask(HELLO).thought == 0


def test_a_thought_that_is_cut_is_no_answer(ask):
    answer = ask(HELLO, thinking=True, limit=2)
    assert (answer.text, answer.reason, answer.completion) == ("", "length", 2)


@pytest.mark.parametrize(
    ("thinking", "then"), [(False, (CALLS, SUNNY)), (True, (MORE_CALLS, AT_LAST))], ids=["plain", "thinking"]
)
def test_two_rounds_of_calls_and_an_answer(ask, puppet, surface, puppets, thinking, then):
    own = puppet[surface]
    turns = own.user(f"How is the weather? {pick(puppets, CALL)}")
    said = []
    for number in then:
        said.append(ask(turns=turns, tools=[WEATHER], thinking=thinking))
        turns += [*own.again(said[-1]), *own.results(said[-1], f"sunny {pick(puppets, number)}")]
    said.append(ask(turns=turns, tools=[WEATHER], thinking=thinking))
    first, second, third = said
    assert [answer.thinking.strip() for answer in said] == ["why not" if thinking else ""] * 3
    assert [(answer.text.strip(), answer.reason) for answer in said] == [
        ("Let me see.", "calls"),
        ("", "calls"),
        ("Sunny in both.", "stop"),
    ]
    assert [[(name, json.loads(given)) for _, name, given in answer.calls] for answer in said] == [
        [("weather", LODZ)],
        [("weather", LODZ), ("weather", NICE)],
        [],
    ]
    assert len({ident for ident, *_ in first.calls + second.calls}) == 3
    assert first.prompt < second.prompt < third.prompt


def test_one_call_is_enough_where_only_one_is_wanted(ask):
    answer = ask(CALLS, tools=[WEATHER], parallel=False)
    assert [json.loads(arguments) for *_, arguments in answer.calls] == [LODZ]
    assert answer.reason == "calls"


@pytest.mark.parametrize("asked", [{"tools": [WEATHER]}, {"tools": [WEATHER], "may_call": False}, {}])
def test_a_call_of_no_tool_is_text(ask, asked):
    answer = ask(NO_TOOL, **asked)
    assert "volcano" in answer.text
    assert (answer.calls, answer.reason) == ([], "stop")
    assert bool(answer.warnings) == (asked == {"tools": [WEATHER]})


def test_a_call_that_is_cut_is_no_call(ask):
    for limit in range(4, 12):
        answer = ask(CALLS, tools=[WEATHER], limit=limit)
        assert answer.reason == "length"
        assert len(answer.calls) <= 1
        assert all(arguments_of(call) != LODZ for call in answer.calls)


def arguments_of(call):
    """Return the arguments; nothing where they are no JSON, as those of a call that was cut."""
    try:
        return json.loads(call[2])
    except json.JSONDecodeError:
        return None


def test_an_answer_without_end_ends_at_its_limit(ask):
    answer = ask(ENDLESS, limit=50)
    assert answer.text == " and on" * 25
    assert (answer.reason, answer.completion) == ("length", 50)


@pytest.mark.parametrize("stop", [", three", "e, t", [" four", "two"], "One"])
def test_stop_strings_end_it_wherever_they_begin(ask, puppet, surface, stop):
    if not puppet[surface].stops:
        pytest.skip("this surface has no stop strings")
    text = "One, two, three, four."
    first = min(text.index(each) for each in ([stop] if isinstance(stop, str) else stop))
    answer = ask(NATURAL, stop=stop)
    assert (answer.text, answer.reason) == (text[:first], "stop")


def test_a_response_goes_on_from_one_that_is_kept(puppet, puppets):
    create = puppet["responses"].client.responses.create
    plain = {"model": "any", "reasoning": {"effort": "none"}}
    first = create(input=f"Please {pick(puppets, SUNNY)}", **plain)
    second = create(input="And again?", previous_response_id=first.id, **plain)
    assert [first.output_text, second.output_text] == ["Sunny in both."] * 2
    assert second.usage.input_tokens > first.usage.input_tokens


@pytest.mark.parametrize("script", [HELLO, CALL, CALLS, NO_TOOL, ENDLESS, SPLIT])
def test_every_surface_tells_the_same_whole_and_streamed(puppet, puppets, script):
    told = [
        own.ask(
            own.user(f"Please {pick(puppets, script)}"),
            stream=stream,
            thinking=True,
            limit=60,
            tools=[WEATHER],
        )
        for own in puppet.values()
        for stream in (False, True)
    ]
    assert [essence(answer) for answer in told] == [essence(told[0])] * len(told)
    assert told[0].completion > 0


def essence(answer):
    """Return all that must not depend on how it was told."""
    calls = [(name, json.loads(arguments)) for _, name, arguments in answer.calls]
    tokens = (answer.prompt, answer.completion, answer.thought)
    return answer.text, answer.thinking, calls, answer.reason, tokens, answer.warnings
