"""Answers of a checkpoint that says what it is told to, through template, tokenizer, engine, network and reader."""

import json

import pytest

from mlxp_core.testing.answering import answering
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.reading import called, shown, thought
from mlxp_core.testing.round_trip import answer_message
from mlxp_core.types import (
    CallBroken,
    CallStarted,
    GenerateRequest,
    Message,
    Result,
    Sampling,
    Text,
    ToolSpec,
)

SAYS = "Let me see, in Łódź.\n\n"
WHY = "two things:\n\n  Łódź 👩‍👧 first"
BOOK = (
    "book",
    {
        "guests": 4,
        "notes": 'window {if free}, "quiet": a,b\n  🍜 }',
        "when": {"day": ["fri", None], "hour": 19.5},
    },
)
LIST = ("list.files-now", {})
TOOLS = tuple(ToolSpec(name, "Do it.") for name, _ in (BOOK, LIST))


def element(name, arguments):
    """Write a call as the template does."""
    parts = [f"<tool_call>\n<function={name}>\n"]
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value)
        parts.append(f"<parameter={key}>\n{text}\n</parameter>\n")
    return "".join([*parts, "</function>\n</tool_call>"])


CALLS = "\n".join(element(*call) for call in (BOOK, LIST))
THOUGHT = f"{WHY}\n</think>\n\n"


def cuttings(puppets):
    """Return the same answer in tokens of many kinds; the thought comes first where the prompt asks for one."""
    before, noodles, behind = (SAYS + CALLS).partition("🍜")
    bowl = noodles.encode()
    bytewise = [puppets.Cut(before, 90), bowl[:2], bowl[2:], puppets.Cut(behind, 91)]
    pieces = [[puppets.Cut(SAYS + CALLS, seed)] for seed in range(8)] + [
        [puppets.Words(SAYS + CALLS)],
        bytewise,
    ]
    return [puppets.Script(each, when_open=[puppets.Cut(THOUGHT, seed)]) for seed, each in enumerate(pieces)]


@pytest.fixture(scope="module")
def puppet(puppets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("puppets") / "qwen35"
    puppets.make("qwen35", cuttings(puppets), folder, max_bytes=1 << 30)
    with answering(folder) as model:
        yield model


def request(messages, *, thinking, limit=None):
    return GenerateRequest(
        id="r",
        model="puppet",
        prompt=messages,
        tools=TOOLS,
        thinking=thinking,
        sampling=Sampling(temperature=0.0),
        max_tokens=limit,
    )


def asking(puppets, script, **more):
    pick = puppets.pick_char(script) if script else ""
    return request((Message("user", (Text(f"Please {pick}"),)),), **more)


@pytest.mark.parametrize("thinking", [False, True])
def test_an_answer_is_the_same_however_it_is_cut(puppet, puppets, thinking):
    scripts = range(len(cuttings(puppets)))
    for events in puppet.ask(*(asking(puppets, script, thinking=thinking) for script in scripts)):
        check_grammar(events)
        assert thought(events) == (WHY if thinking else "")
        assert shown(events) == SAYS
        assert called(events) == [BOOK, LIST]
        assert (events[-1].reason, events[-1].warnings) == ("calls", ())


def test_an_answer_that_is_cut_off_is_no_more_than_it_is(puppet, puppets):
    limits = range(1, 60, 5)
    answers = puppet.ask(*(asking(puppets, 1, thinking=True, limit=limit) for limit in limits))
    for events in answers:
        check_grammar(events)
        assert events[-1].reason == "length"
        assert WHY.startswith(thought(events).removesuffix("\n"))
        assert (SAYS + CALLS).startswith(shown(events)), "a call without its name is text"
        done = called(events)
        assert done == [BOOK, LIST][: len(done)]
        started = sum(isinstance(event, CallStarted) for event in events)
        assert sum(isinstance(event, CallBroken) for event in events) == started - len(done)
    assert any(isinstance(event, CallBroken) for events in answers for event in events)


def test_the_next_prompt_goes_on_from_what_was_said(puppets, shared, tmp_path):
    script = puppets.Script([puppets.Cut(SAYS + CALLS, 5)], when_open=[puppets.Cut(THOUGHT, 5)])
    puppets.make("qwen35", script, tmp_path, template=shared / "assets" / "qwen35" / "chat_template.jinja")
    messages = (Message("user", (Text("Please"),)),)
    with answering(tmp_path) as model:
        asked = request(messages, thinking=True)
        before = model.frontend.prepare(asked)
        (events,) = model.ask(asked)
        answer = answer_message(events)
        results = [Message("tool", (Result(part.id, (Text("done"),)),)) for part in answer.parts[2:]]
        behind = model.frontend.prepare(request((*messages, answer, *results), thinking=True))
    assert behind.text.startswith(before.text + THOUGHT + SAYS + CALLS)
    assert behind.inside_thinking
    assert before.inside_thinking
