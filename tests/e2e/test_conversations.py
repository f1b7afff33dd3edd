"""Whole conversations with checkpoints that say what a script has them say: calls, thinking, reasons.

A pick in a message selects the script, wherever the server really puts that message into the prompt. So an answer
tells which parts of the conversation reached the model.
"""

import json

import pytest

from mlxp_core.errors import UnsupportedModel

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Look it up.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
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
    "minicpm5": (minicpm5, "why not\n</think>\n\n"),
    "qwen35": (qwen35, "why not\n</think>\n\n"),
    "gemma4": (gemma4, "<|channel>thought\nwhy not\n<channel|>"),
}
"""How each family writes a call, and the thought that its prompt asks for."""

HELLO, CALL, CALLS, SUNNY, NO_TOOL, ENDLESS, NATURAL, SPLIT = range(8)


@pytest.fixture(scope="module", params=FAMILIES)
def puppet(request, puppets, live, tmp_path_factory, official):
    """The client of a server whose model says what these scripts say."""
    call, thought = FAMILIES[request.param]
    scripts = {
        HELLO: puppets.Script([puppets.Words("Hello there, you.")], when_open=[puppets.Cut(thought, 1)]),
        CALL: [puppets.Words("Let me see. "), puppets.Cut(call("weather", LODZ), 2)],
        CALLS: [puppets.Cut(call("weather", LODZ) + call("weather", NICE), 3)],
        SUNNY: [puppets.Words("Sunny in both.")],
        NO_TOOL: [puppets.Cut(call("volcano", NICE), 4)],
        ENDLESS: puppets.Script([puppets.Words(" and on")], loop=True),
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
    folder = tmp_path_factory.mktemp("puppets") / request.param
    puppets.make(request.param, [scripts[number] for number in sorted(scripts)], folder)
    try:
        with live(folder) as served:
            yield official(served.url)
    except UnsupportedModel:
        pytest.skip(f"no plugin serves {request.param}")


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def ask(request, puppet, chat, puppets):
    """Ask with a script in mind, thinking off unless it is wanted."""

    def answer(script=HELLO, *, thinking=False, messages=None, **asked):
        pick = puppets.pick_char(script) if script else ""
        return chat(
            puppet,
            stream=request.param,
            messages=messages or [{"role": "user", "content": f"Please {pick}"}],
            **{
                "max_tokens": 400,
                "extra_body": {"chat_template_kwargs": {"enable_thinking": thinking}},
                **asked,
            },
        )

    return answer


def test_an_answer_is_its_script(ask):
    answer = ask(HELLO).only
    assert (answer.text, answer.thinking, answer.reason) == ("Hello there, you.", "", "stop")


@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"temperature": 2.0, "seed": 1}])
def test_characters_cut_across_tokens_are_whole(ask, sampling):
    assert ask(SPLIT, **sampling).only.text == "So Ł👩‍👧 it is."


def test_thinking_on_and_off(ask):
    answer = ask(HELLO, thinking=True)
    assert (answer.only.text, answer.only.thinking) == ("Hello there, you.", "why not")
    assert 0 < answer.usage.completion_tokens_details.reasoning_tokens < answer.usage.completion_tokens
    by_effort = ask(HELLO, extra_body={}, reasoning_effort="none")
    assert (by_effort.only.text, by_effort.only.thinking) == ("Hello there, you.", "")
    assert by_effort.usage.completion_tokens_details.reasoning_tokens == 0


def test_a_thought_that_is_cut_is_no_answer(ask):
    answer = ask(HELLO, thinking=True, max_tokens=2).only
    assert (answer.text, answer.reason) == ("", "length")


def test_two_rounds_of_calls_and_an_answer(ask, puppets):
    picks = {number: puppets.pick_char(number) for number in (CALL, CALLS, SUNNY)}
    messages = [{"role": "user", "content": f"How is the weather? {picks[CALL]}"}]
    said = []
    for number in (CALLS, SUNNY, None):
        own = ask(messages=messages, tools=[WEATHER]).only
        said.append(own)
        calls = [
            {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}
            for ident, name, arguments in own.calls
        ]
        messages.append(
            {"role": "assistant", "content": own.text or None, "tool_calls": calls} if calls else own
        )
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": f"sunny {picks[number]}"}
            for call in calls
        ]
    first, second, third = said
    assert (first.text.strip(), first.reason) == ("Let me see.", "tool_calls")
    assert [(name, json.loads(arguments)) for _, name, arguments in first.calls] == [("weather", LODZ)]
    assert [(name, json.loads(arguments)) for _, name, arguments in second.calls] == [
        ("weather", LODZ),
        ("weather", NICE),
    ]
    assert len({ident for ident, *_ in first.calls + second.calls}) == 3
    assert (second.text, second.reason) == ("", "tool_calls")
    assert (third.text, third.calls, third.reason) == ("Sunny in both.", [], "stop")


def test_one_call_is_enough_where_only_one_is_wanted(ask):
    answer = ask(CALLS, tools=[WEATHER], parallel_tool_calls=False).only
    assert [json.loads(arguments) for *_, arguments in answer.calls] == [LODZ]
    assert answer.reason == "tool_calls"


@pytest.mark.parametrize("asked", [{"tools": [WEATHER]}, {"tools": [WEATHER], "tool_choice": "none"}, {}])
def test_a_call_of_no_tool_is_text(ask, asked):
    answer = ask(NO_TOOL, **asked).only
    assert "volcano" in answer.text
    assert (answer.calls, answer.reason) == ([], "stop")
    assert bool(answer.warnings) == (asked == {"tools": [WEATHER]})


def test_a_call_that_is_cut_is_no_call(ask):
    for limit in range(4, 12):
        answer = ask(CALLS, tools=[WEATHER], max_tokens=limit).only
        assert answer.reason == "length"
        assert len(answer.calls) <= 1
        for *_, arguments in answer.calls:
            with pytest.raises(json.JSONDecodeError):
                json.loads(arguments)


def test_an_answer_without_end_ends_at_its_limit(ask):
    answer = ask(ENDLESS, max_tokens=50)
    assert answer.only.text == " and on" * 25
    assert (answer.only.reason, answer.usage.completion_tokens) == ("length", 50)


@pytest.mark.parametrize("stop", [", three", "e, t", [" four", "two"], "One"])
def test_stop_strings_end_it_wherever_they_begin(ask, stop):
    text = "One, two, three, four."
    first = min(text.index(each) for each in ([stop] if isinstance(stop, str) else stop))
    answer = ask(NATURAL, stop=stop).only
    assert (answer.text, answer.reason) == (text[:first], "stop")
