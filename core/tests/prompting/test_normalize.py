from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.prompting.normalize import normalize
from mlxp_core.prompting.traits import TemplateTraits
from mlxp_core.types import Call, ImageBytes, Message, Result, Text, Thinking

IDS = st.sampled_from(["", "c1", "c2", "c3"])
WORDS = st.text("abc \n", max_size=5)
PARTS = st.one_of(
    WORDS.map(Text),
    WORDS.map(Thinking),
    st.builds(Call, IDS, st.just("f"), st.just("{}")),
    st.builds(Result, IDS, st.tuples(WORDS.map(Text))),
    st.just(ImageBytes(b"png")),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.lists(PARTS, max_size=4).map(tuple),
    ),
    max_size=10,
)
TRAITS = st.builds(
    TemplateTraits,
    system=st.booleans(),
    late_system=st.booleans(),
    repeated=st.booleans(),
    text_arguments=st.booleans(),
)
EVERYTHING = TemplateTraits()
QWEN = TemplateTraits(late_system=False)
GEMMA3 = TemplateTraits(late_system=False, repeated=False)
GEMMA2 = TemplateTraits(system=False, late_system=False, repeated=False)


def says(role, *texts):
    return Message(role, tuple(map(Text, texts)))


def calls(*ids, text=""):
    return Message("assistant", (*([Text(text)] if text else []), *(Call(name, "f", "{}") for name in ids)))


def result(call_id, text="r"):
    return Message("tool", (Result(call_id, (Text(text),)),))


def spoken(messages):
    """(role, text or call ids or result id) of each message."""
    out = []
    for message in messages:
        match message.parts:
            case (Result(call_id=call_id),):
                out.append((message.role, call_id))
            case parts:
                called = [part.id for part in parts if isinstance(part, Call)]
                text = "".join(part.text for part in parts if isinstance(part, Text))
                out.append((message.role, *called, text) if called else (message.role, text))
    return out


def contents(messages):
    """Everything that was said, whoever said it: results count by their words."""
    found = Counter()
    for message in messages:
        for part in message.parts:
            match part:
                case Result(parts=inner):
                    found.update(inner)
                case _:
                    found[part] += 1
    return found


class TestLaws:
    @given(messages=MESSAGES, traits=TRAITS)
    def test_nothing_is_lost(self, messages, traits):
        before, after = contents(messages), contents(normalize(messages, traits))
        assert not before - after
        assert {part.text for part in after - before} <= {"\n\n", "Tool result:\n"}

    @given(messages=MESSAGES, traits=TRAITS)
    def test_doing_it_twice_is_doing_it_once(self, messages, traits):
        once = normalize(messages, traits)
        assert normalize(once, traits) == once

    @given(messages=MESSAGES, traits=TRAITS)
    def test_the_template_gets_what_it_takes(self, messages, traits):
        roles = [message.role for message in normalize(messages, traits)]
        if not traits.system:
            assert "system" not in roles
        elif not traits.late_system:
            assert "system" not in roles[1:]
        assert ("system", "system") not in pairwise(roles)
        assert ("assistant", "assistant") not in pairwise(roles)
        if not traits.repeated:
            assert ("user", "user") not in pairwise(roles)

    @given(messages=MESSAGES, traits=TRAITS)
    def test_results_stand_behind_their_calls_in_the_order_of_the_calls(self, messages, traits):
        asked, place = [], -1
        for message in normalize(messages, traits):
            match message.parts:
                case (Result() as answer,):
                    assert message.role == "tool"
                    assert answer.call_id in asked[max(place, 0) :]
                    place = asked.index(answer.call_id, max(place, 0))
                case parts:
                    assert not any(isinstance(part, Result) for part in parts)
                    calling = parts if message.role == "assistant" else ()
                    asked, place = [part.id for part in calling if isinstance(part, Call)], -1

    @given(messages=MESSAGES)
    def test_order_of_everything_but_results_stays(self, messages):
        def others(some):
            added = (Text("\n\n"), Text("Tool result:\n"))
            return [p for m in some for p in m.parts if not isinstance(p, Result) and p not in added]

        kept = [
            part for part in others(normalize(messages, EVERYTHING)) if part not in results_words(messages)
        ]
        assert kept == [part for part in others(messages) if part not in results_words(messages)]


def results_words(messages):
    return {inner for m in messages for part in m.parts if isinstance(part, Result) for inner in part.parts}


class TestSystem:
    def test_neighbours_become_one(self):
        messages = [says("system", "a"), says("system", ""), says("system", "b", "c"), says("user", "u")]
        assert spoken(normalize(messages, EVERYTHING)) == [("system", "a\n\nbc"), ("user", "u")]

    @pytest.mark.parametrize(
        ("traits", "expected"),
        [
            (EVERYTHING, [("system", "a"), ("user", "u"), ("system", "b"), ("user", "v")]),
            (QWEN, [("system", "a\n\nb"), ("user", "u"), ("user", "v")]),
            (GEMMA3, [("system", "a\n\nb"), ("user", "u\n\nv")]),
            (GEMMA2, [("user", "a\n\nb\n\nu\n\nv")]),
        ],
    )
    def test_late_ones_go_where_the_template_takes_them(self, traits, expected):
        messages = [says("system", "a"), says("user", "u"), says("system", "b"), says("user", "v")]
        assert spoken(normalize(messages, traits)) == expected

    def test_without_a_user_the_instructions_are_the_users(self):
        assert spoken(normalize([says("system", "a")], GEMMA2)) == [("user", "a")]


class TestResults:
    def test_they_follow_the_order_of_the_calls(self):
        messages = [says("user", "u"), calls("c1", "c2"), result("c2"), result("c1"), says("user", "v")]
        expected = [
            ("user", "u"),
            ("assistant", "c1", "c2", ""),
            ("tool", "c1"),
            ("tool", "c2"),
            ("user", "v"),
        ]
        assert spoken(normalize(messages, EVERYTHING)) == expected

    def test_one_that_came_late_moves_up(self):
        messages = [calls("c1", "c2"), result("c1"), says("user", "wait"), result("c2")]
        expected = [("assistant", "c1", "c2", ""), ("tool", "c1"), ("tool", "c2"), ("user", "wait")]
        assert spoken(normalize(messages, EVERYTHING)) == expected

    def test_calls_over_several_messages_stay_together(self):
        messages = [calls("c1", text="both"), calls("c2"), result("c2"), result("c1")]
        expected = [("assistant", "c1", "c2", "both"), ("tool", "c1"), ("tool", "c2")]
        assert spoken(normalize(messages, EVERYTHING)) == expected

    def test_several_in_one_message_are_taken_apart(self):
        both = Message("user", (Result("c1", (Text("1"),)), Text("and?"), Result("c2", (Text("2"),))))
        expected = [("assistant", "c1", "c2", ""), ("tool", "c1"), ("tool", "c2"), ("user", "and?")]
        assert spoken(normalize([calls("c1", "c2"), both], EVERYTHING)) == expected

    def test_an_id_used_again_means_the_latest_call(self):
        messages = [calls("c1"), result("c1", "old"), says("user", "again"), calls("c1"), result("c1", "new")]
        out = normalize(messages, EVERYTHING)
        assert [message.role for message in out] == ["assistant", "tool", "user", "assistant", "tool"]
        assert out[-1].parts[0].parts == (Text("new"),)

    def test_one_without_an_id_answers_the_first_open_call(self):
        messages = [calls("c1", "c2"), result(""), result("")]
        assert spoken(normalize(messages, EVERYTHING))[1:] == [("tool", "c1"), ("tool", "c2")]

    @pytest.mark.parametrize("before", [[], [calls("c1")], [says("user", "u")]])
    def test_one_without_a_call_becomes_the_users_words(self, before):
        assert spoken(normalize([*before, result("lost", "42")], EVERYTHING))[-1] == (
            "user",
            "Tool result:\n42",
        )


def test_thinking_stays_with_its_message():
    message = Message("assistant", (Thinking("why"), Text("so")))
    assert normalize([says("user", "u"), message], QWEN)[1] == message
