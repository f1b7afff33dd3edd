import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.prompting.traits import TemplateTraits
from mlxp_core.prompting.write import read_arguments, write_messages, write_tool
from mlxp_core.types import Call, ImageBytes, Message, Result, Text, Thinking, ToolSpec

TRAITS = TemplateTraits()


def written(*messages, traits=TRAITS):
    return write_messages(messages, traits)


class TestContent:
    def test_text_alone_is_a_string(self):
        assert written(Message("user", (Text("a"), Text("b")))) == [{"role": "user", "content": "ab"}]

    @pytest.mark.parametrize("role", ["system", "user", "assistant"])
    def test_no_content_is_empty_text(self, role):
        assert written(Message(role, ()))[0]["content"] == ""

    def test_images_keep_their_place(self):
        (message,) = written(Message("user", (Text("a"), ImageBytes(b""), Text(""), Text("b"))))
        assert message["content"] == [
            {"type": "text", "text": "a"},
            {"type": "image"},
            {"type": "text", "text": "b"},
        ]

    def test_a_name_is_handed_on(self):
        assert written(Message("user", (Text("a"),), "ann"))[0]["name"] == "ann"


class TestAnswers:
    def test_reasoning_has_both_of_its_names(self):
        (message,) = written(Message("assistant", (Thinking("a"), Thinking("b"), Text("c"))))
        assert message["reasoning"] == message["reasoning_content"] == "a\n\nb"
        assert message["content"] == "c"

    def test_what_is_absent_has_no_key(self):
        assert written(Message("assistant", (Text("c"),))) == [{"role": "assistant", "content": "c"}]

    def test_calls_have_objects_for_arguments(self):
        (message,) = written(Message("assistant", (Call("c1", "f", '{"b": 1, "a": "ü"}'),)))
        assert message["tool_calls"] == [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": "ü"}}}
        ]
        assert list(message["tool_calls"][0]["function"]["arguments"]) == ["b", "a"]

    @pytest.mark.parametrize(("takes_text", "expected"), [(True, "{oops"), (False, {"arguments": "{oops"})])
    def test_broken_arguments_arrive_as_the_template_can_take_them(self, takes_text, expected):
        traits = TemplateTraits(text_arguments=takes_text)
        (message,) = written(Message("assistant", (Call("c1", "f", "{oops"),)), traits=traits)
        assert message["tool_calls"][0]["function"]["arguments"] == expected


class TestArguments:
    @pytest.mark.parametrize("text", ["", "  ", "\n"])
    def test_none_are_an_empty_object(self, text):
        assert read_arguments(text) == {}

    @pytest.mark.parametrize("text", ["[1]", "7", "null", '"x"', "{", "[" * 100_000])
    def test_what_is_no_object_stays_text(self, text):
        assert read_arguments(text) == text

    @given(value=st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.lists(st.booleans()))))
    def test_objects_are_read(self, value):
        assert read_arguments(json.dumps(value)) == value


class TestResults:
    def test_they_know_the_name_of_their_call(self):
        call = Message("assistant", (Call("c1", "look", "{}"),))
        assert written(call, Message("tool", (Result("c1", (Text("18C"),)),)))[1] == {
            "role": "tool",
            "tool_call_id": "c1",
            "name": "look",
            "content": "18C",
        }

    @pytest.mark.parametrize(
        ("text", "expected"), [("no disk", "Error: no disk"), ("error 7", "error 7"), ("", "Error: ")]
    )
    def test_a_failure_says_so(self, text, expected):
        (message,) = written(Message("tool", (Result("c1", (Text(text),), failed=True),)))
        assert message["content"] == expected

    def test_images_stay_in_the_result(self):
        (message,) = written(Message("tool", (Result("c1", (Text("see"), ImageBytes(b""))),)))
        assert message["content"] == [{"type": "text", "text": "see"}, {"type": "image"}]


class TestTools:
    def test_the_schema_is_typed(self):
        tool = write_tool(
            ToolSpec("f", "does", {"type": "object", "properties": {"x": {"type": ["integer", "null"]}}})
        )
        assert tool == {
            "type": "function",
            "function": {
                "name": "f",
                "description": "does",
                "parameters": {
                    "type": "object",
                    "properties": {"x": {"type": "integer", "nullable": True}},
                },
            },
        }

    def test_a_tool_without_parameters_takes_an_empty_object(self):
        assert write_tool(ToolSpec("f"))["function"] == {
            "name": "f",
            "parameters": {"type": "object", "properties": {}},
        }
