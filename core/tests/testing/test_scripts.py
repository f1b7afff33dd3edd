import msgspec
import pytest

from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.recut import recut
from mlxp_core.testing.replies import Answer
from mlxp_core.testing.scripts import (
    BROKEN_CALL,
    EMOJI_CUT_ACROSS_DELTAS,
    FAILURES,
    SCRIPTS,
    TWO_CALLS,
    TWO_CHOICES_INTERLEAVED,
)
from mlxp_core.types import Event, TextDelta, Usage


@pytest.mark.parametrize("script", [*SCRIPTS, *FAILURES], ids=lambda script: script.name)
def test_scripts_follow_the_grammar_of_events(script):
    check_grammar(script.events, choices=script.choices)
    assert {event.choice for event in script.events} == set(range(script.choices))


@pytest.mark.parametrize("script", [*SCRIPTS, *FAILURES], ids=lambda script: script.name)
def test_recut_runs_follow_the_grammar_and_add_up_to_the_same(script):
    for length in (1, 3, 1000):
        events = recut(script.events, length)
        assert msgspec.structs.replace(script, events=events).reply() == script.reply()
        check_grammar(events, choices=script.choices)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_arguments_of_finished_calls_are_json_objects(script):
    for answer in script.reply().answers:
        for _, arguments in answer.calls:
            msgspec.json.decode(arguments, type=dict)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_survive_json(script):
    events = msgspec.json.decode(msgspec.json.encode(script.events), type=tuple[Event, ...])
    assert events == script.events


def test_names_are_unique():
    names = [script.name for script in (*SCRIPTS, *FAILURES)]
    assert len(set(names)) == len(names)


def test_a_reply_adds_up_deltas_calls_and_usage():
    weather = ("weather", '{"city": "Łódź", "days": 3}')
    assert TWO_CALLS.reply().answers == (Answer(calls=(weather, ("weather", "{}")), reason="calls"),)
    assert BROKEN_CALL.reply().answers[0].calls == ()
    assert BROKEN_CALL.reply().answers[0].text.startswith("Adding. <tool_call>")
    assert TWO_CHOICES_INTERLEAVED.reply().usage == Usage(prompt=11, cached=4, completion=19, thinking=3)


def test_cutting_to_one_character_parts_the_emoji():
    texts = [event.text for event in recut(EMOJI_CUT_ACROSS_DELTAS.events, 1) if isinstance(event, TextDelta)]
    assert set(map(len, texts)) == {1}
    assert "🇵" in texts
