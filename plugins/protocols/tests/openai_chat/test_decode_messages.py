import base64

import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, ImageBytes, ImageUrl, Message, Result, Text, Thinking

PIXEL = base64.b64encode(b"\x89PNG fake").decode()


def read(decode, *messages):
    return decode(messages=list(messages)).request.prompt


def fault(decode, message):
    with pytest.raises(BadRequest) as caught:
        read(decode, message)
    return caught.value


def test_roles_are_kept_and_developer_is_system(decode):
    prompt = read(
        decode,
        {"role": "system", "content": "a"},
        {"role": "developer", "content": "b"},
        {"role": "user", "content": "c", "name": "ann"},
        {"role": "assistant", "content": "d"},
    )
    assert prompt == (
        Message("system", (Text("a"),)),
        Message("system", (Text("b"),)),
        Message("user", (Text("c"),), "ann"),
        Message("assistant", (Text("d"),)),
    )


def test_an_assistant_turn_keeps_thinking_words_and_calls(decode):
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1, "a": 2}'}}
    said = {"role": "assistant", "content": "words", "reasoning": "thought", "tool_calls": [call]}
    assert read(decode, said)[0].parts == (
        Thinking("thought"),
        Text("words"),
        Call("call_1", "f", '{"b": 1, "a": 2}'),
    )


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_has_two_names(decode, name):
    assert read(decode, {"role": "assistant", "content": None, name: "hm"})[0].parts == (Thinking("hm"),)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        (None, "{}"),
        ("{half", "{half"),
        ({"z": 1, "a": 2}, '{"z": 1, "a": 2}'),
    ],
)
def test_past_arguments_are_kept_as_text_however_they_come(decode, arguments, text):
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    assert read(decode, {"role": "assistant", "tool_calls": [call]})[0].parts == (Call("c", "f", text),)


def test_a_tool_message_is_a_result(decode):
    text = {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"}
    assert read(decode, text) == (Message("tool", (Result("call_1", (Text("21 degrees"),)),)),)
    seen = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
    ]
    parts = read(decode, {"role": "tool", "tool_call_id": "call_1", "content": seen})[0].parts
    assert parts == (Result("call_1", (Text("see"), ImageUrl("https://x.test/a.png"))),)


@pytest.mark.parametrize(
    ("part", "image"),
    [
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}, "image/png"),
        ({"type": "image_url", "image_url": f"DATA:;base64,{PIXEL[:4]}\n{PIXEL[4:]}"}, ""),
        ({"type": "image", "data": PIXEL}, ""),
    ],
)
def test_images_in_the_body_are_out_of_base64(decode, part, image):
    parts = read(decode, {"role": "user", "content": [part, {"type": "text", "text": "what is it?"}]})[
        0
    ].parts
    assert parts == (ImageBytes(b"\x89PNG fake", image), Text("what is it?"))


@pytest.mark.parametrize(
    "url",
    [
        "data:image/png;base64,%%",
        "data:image/png;base64,",
        "data:image/png,abc",
        "data:",
        "file:///etc/passwd",
        "x",
        "",
    ],
)
def test_bad_image_urls_name_their_place(decode, url):
    error = fault(decode, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    assert error.param == "messages[0].content[0].image_url"
    assert error.param in error.message


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"role": "function", "name": "f", "content": "x"}, "messages[0].role"),
        ({"role": "robot", "content": "x"}, "messages[0].role"),
        ({"content": "x"}, "messages[0].role"),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id"),
        ({"role": "user", "content": 3}, "messages[0].content"),
        ({"role": "user", "content": [{"type": "text"}]}, "messages[0].content[0].text"),
        ({"role": "user", "content": [{"type": "smell"}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}, "messages[0].content[0]"),
        ({"role": "user", "content": [{"type": "file", "file": {}}]}, "messages[0].content[0]"),
        ({"role": "system", "content": [{"type": "image", "data": PIXEL}]}, "messages[0].content[0]"),
        ({"role": "assistant", "function_call": {"name": "f", "arguments": ""}}, "messages[0].function_call"),
        ({"role": "assistant", "audio": {"id": "x"}}, "messages[0].audio"),
        (
            {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {}}]},
            "messages[0].tool_calls[0]",
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 3}}]},
            "messages[0].tool_calls[0].function.arguments",
        ),
        (None, "messages[0]"),
    ],
)
def test_faulty_messages_name_their_place(decode, message, param):
    error = fault(decode, message)
    assert error.param == param
    assert param in error.message


def test_null_is_absent_in_messages(decode):
    spare = dict.fromkeys(("name", "refusal", "reasoning", "tool_calls", "audio", "function_call", "content"))
    assert read(decode, {"role": "assistant", **spare}) == (Message("assistant", ()),)


def test_a_refusal_is_text(decode):
    said = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "refusal": "never"}
    assert read(decode, said)[0].parts == (Text("no"), Text("never"))
