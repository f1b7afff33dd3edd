import base64
import json
from typing import get_args, get_type_hints

import pytest
from openai.types.responses import response_input_item_param

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, ImageBytes, ImageUrl, Message, Result, Text, Thinking

PIXEL = base64.b64encode(b"\x89PNG fake").decode()
URL = "https://x.test/a.png"
DONE = {"status": "completed"}

# One of every kind that the official client can send, and whether it becomes part of the conversation.
TOLD = [
    {"role": "user", "content": "easy"},
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "full"}], **DONE},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_x",
        "content": [{"type": "output_text", "text": "said", "annotations": [], "logprobs": []}],
        "phase": "commentary",
        **DONE,
    },
    {"type": "reasoning", "id": "rs_x", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "1"},
    {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
    {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "ok"}]},
    {
        "type": "local_shell_call",
        "id": "ls",
        "call_id": "c",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
        **DONE,
    },
    {"type": "local_shell_call_output", "id": "c", "output": "a.py"},
    {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
    {
        "type": "shell_call_output",
        "call_id": "c",
        "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    {
        "type": "apply_patch_call",
        "call_id": "c",
        "operation": {"type": "delete_file", "path": "a"},
        **DONE,
    },
    {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no such file"},
    {
        "type": "computer_call",
        "id": "cu",
        "call_id": "c",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
        **DONE,
    },
    {
        "type": "computer_call_output",
        "call_id": "c",
        "output": {"type": "computer_screenshot", "image_url": URL},
    },
    {"type": "mcp_call", "id": "m", "server_label": "s", "name": "f", "arguments": "{}", "output": "7"},
]
PASSED_OVER = [
    {"type": "file_search_call", "id": "x", "queries": [], **DONE},
    {"type": "web_search_call", "id": "x", "action": {"type": "search", "query": "q"}, **DONE},
    {"type": "tool_search_call", "arguments": {}},
    {"type": "tool_search_output", "tools": []},
    {"type": "additional_tools", "role": "developer", "tools": []},
    {"type": "configuration_update"},
    {"type": "compaction", "encrypted_content": "x"},
    {"type": "image_generation_call", "id": "x", "result": None, **DONE},
    {"type": "code_interpreter_call", "id": "x", "code": "1", "container_id": "y", "outputs": None, **DONE},
    {"type": "mcp_list_tools", "id": "x", "server_label": "s", "tools": []},
    {"type": "mcp_approval_request", "id": "x", "server_label": "s", "name": "f", "arguments": "{}"},
    {"type": "mcp_approval_response", "approval_request_id": "x", "approve": True},
    {"type": "compaction_trigger"},
    {"type": "program", "id": "x", "call_id": "c", "code": "", "fingerprint": ""},
    {"type": "program_output", "id": "x", "call_id": "c", "result": "", **DONE},
    {"type": "invented_next_year", "anything": [1]},
]


def read(decode, *items):
    return decode(input=list(items)).request.prompt


def fault(decode, item):
    with pytest.raises(BadRequest) as caught:
        read(decode, item)
    assert caught.value.param in caught.value.message
    return caught.value.param


def test_the_samples_are_of_every_kind_that_the_official_client_knows():
    hints = [get_type_hints(kind) for kind in get_args(response_input_item_param.ResponseInputItemParam)]
    official = {value for hint in hints for value in _literals(hint["type"])}
    ours = {item.get("type", "message") for item in (*TOLD, *PASSED_OVER)} | {"item_reference"}
    assert official
    assert official <= ours


def _literals(hint):
    return {
        value
        for inner in get_args(hint)
        for value in ([inner] if isinstance(inner, str) else _literals(inner))
    }


@pytest.mark.parametrize("item", TOLD, ids=lambda item: item.get("type", "easy"))
def test_what_means_something_becomes_part_of_the_conversation(decode, item):
    decoded = decode(input=[{"role": "user", "content": "go"}, item])
    assert sum(len(message.parts) for message in decoded.request.prompt) > 1
    assert decoded.warnings == ()


@pytest.mark.parametrize("item", PASSED_OVER, ids=lambda item: item["type"])
def test_what_means_nothing_is_passed_over_with_a_warning(decode, item):
    decoded = decode(input=[{"role": "user", "content": "go"}, item])
    assert decoded.request.prompt == (Message("user", (Text("go"),)),)
    assert decoded.warnings == (f"input[1] ({item['type']})",)


def test_a_string_is_one_message_of_the_user(decode):
    assert decode(input="hello").request.prompt == (Message("user", (Text("hello"),)),)


def test_roles_are_kept_and_developer_is_system(decode):
    said = [{"role": role, "content": role} for role in ("system", "developer", "user", "assistant")]
    assert read(decode, *said) == (
        Message("system", (Text("system"),)),
        Message("system", (Text("developer"),)),
        Message("user", (Text("user"),)),
        Message("assistant", (Text("assistant"),)),
    )


def test_instructions_come_first(decode):
    prompt = decode(instructions="Be brief.", input=[{"role": "developer", "content": "b"}]).request.prompt
    assert prompt == (Message("system", (Text("Be brief."),)), Message("system", (Text("b"),)))


def test_one_turn_of_the_model_becomes_one_message_again(decode):
    calls = [
        {"type": "function_call", "call_id": f"call_{name}", "name": name, "arguments": arguments}
        for name, arguments in (("a", '{"z": 1, "b": 2}'), ("b", ""))
    ]
    outputs = [{"type": "function_call_output", "call_id": f"call_{name}", "output": name} for name in "ab"]
    assert read(
        decode,
        {"role": "user", "content": "go"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Two files."}]},
        {"type": "message", "role": "assistant", "content": "Looking."},
        *calls,
        *outputs,
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": "Done."},
    ) == (
        Message("user", (Text("go"),)),
        Message(
            "assistant",
            (
                Thinking("Two files."),
                Text("Looking."),
                Call("call_a", "a", '{"z": 1, "b": 2}'),
                Call("call_b", "b", "{}"),
            ),
        ),
        Message("tool", (Result("call_a", (Text("a"),)),)),
        Message("tool", (Result("call_b", (Text("b"),)),)),
        Message("assistant", (Text("Done."),)),
    )


def test_reasoning_in_full_wins_over_its_summary(decode):
    item = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "short"}],
        "content": [{"type": "reasoning_text", "text": "long"}, {"type": "reasoning_text", "text": "longer"}],
        "encrypted_content": None,
    }
    assert read(decode, item) == (Message("assistant", (Thinking("long\n\nlonger"),)),)


@pytest.mark.parametrize(
    ("item", "name", "arguments"),
    [
        ({"type": "function_call", "name": "f", "arguments": {"z": 1, "a": 2}}, "f", {"z": 1, "a": 2}),
        ({"type": "function_call", "name": "f", "arguments": None}, "f", {}),
        ({"type": "function_call", "name": "f", "namespace": "s", "arguments": "{}"}, "s__f", {}),
        ({"type": "custom_tool_call", "name": "p", "input": 'a "b"\n'}, "p", {"input": 'a "b"\n'}),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, "local_shell", {"command": ["ls"]}),
        ({"type": "shell_call", "action": {"commands": ["ls"]}}, "shell", {"commands": ["ls"]}),
        ({"type": "apply_patch_call", "operation": {"path": "a"}}, "apply_patch", {"path": "a"}),
        ({"type": "computer_call", "action": {"type": "wait"}}, "computer", {"type": "wait"}),
        ({"type": "computer_call", "actions": [{"type": "w"}]}, "computer", {"actions": [{"type": "w"}]}),
    ],
)
def test_calls_of_every_kind_are_calls(decode, item, name, arguments):
    (call,) = read(decode, {**item, "call_id": "c"})[0].parts
    assert (call.id, call.name, json.loads(call.arguments)) == ("c", name, arguments)


@pytest.mark.parametrize(
    ("output", "parts"),
    [
        ("21 degrees", (Text("21 degrees"),)),
        ("", (Text(""),)),
        (None, ()),
        ({"b": 1, "a": [2]}, (Text('{"b": 1, "a": [2]}'),)),
        ([{"stdout": "a"}], (Text('[{"stdout": "a"}]'),)),
        (
            [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": URL, "detail": "low"},
            ],
            (Text("see"), ImageUrl(URL)),
        ),
    ],
)
def test_outputs_are_words_parts_or_any_json(decode, output, parts):
    item = {"type": "function_call_output", "call_id": "c", "output": output}
    assert read(decode, item) == (Message("tool", (Result("c", parts),)),)


def test_a_failed_patch_is_a_failed_result(decode):
    item = {"type": "apply_patch_call_output", "call_id": "c", "status": "failed"}
    assert read(decode, item)[0].parts == (Result("c", (Text("failed"),), failed=True),)


def test_a_remote_call_stands_with_its_answer(decode):
    call = {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "server_label": "s"}
    called = Message("assistant", (Call("m", "f", "{}"),))
    assert read(decode, {**call, "output": "7"}) == (called, Message("tool", (Result("m", (Text("7"),)),)))
    failed = Result("m", (Text('{"code": 5}'),), failed=True)
    assert read(decode, {**call, "error": {"code": 5}}) == (called, Message("tool", (failed,)))
    assert read(decode, call) == (called,)


def test_images_are_seen(decode):
    parts = [
        {"type": "input_text", "text": "what is it?"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
    ]
    assert read(decode, {"role": "user", "content": parts})[0].parts == (
        Text("what is it?"),
        ImageBytes(b"\x89PNG fake", "image/png"),
    )


def test_a_refusal_is_text(decode):
    said = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    assert read(decode, said)[0].parts == (Text("no"),)


def content(*parts, role="user"):
    return {"role": role, "content": list(parts)}


@pytest.mark.parametrize(
    ("item", "param"),
    [
        (content({"type": "input_file", "file_id": "x"}), "input[0].content[0]"),
        (content({"type": "input_audio", "input_audio": {}}), "input[0].content[0]"),
        (content({"type": "input_image", "file_id": "x"}), "input[0].content[0].image_url"),
        (
            content({"type": "input_image", "image_url": "file:///etc/passwd"}),
            "input[0].content[0].image_url",
        ),
        (content({"type": "smell"}), "input[0].content[0].type"),
        (content({"type": "input_text"}), "input[0].content[0].text"),
        (content({"type": "input_image", "image_url": URL}, role="developer"), "input[0].content[0]"),
        ({"role": "robot", "content": "x"}, "input[0].role"),
        ({"role": "user", "content": 3}, "input[0].content"),
        ({"type": "function_call", "arguments": "{}"}, "input[0].name"),
        ({"type": "function_call", "name": "f", "arguments": 3}, "input[0].arguments"),
        ({"type": "computer_call_output", "output": {"file_id": "x"}}, "input[0].output.image_url"),
        (
            {"type": "function_call_output", "output": [{"type": "input_file", "file_id": "x"}]},
            "input[0].output[0]",
        ),
        ({"type": 3}, "input[0].type"),
        ({}, "input[0].type"),
        ("x", "input[0]"),
        (None, "input[0]"),
    ],
)
def test_faulty_items_name_their_place(decode, item, param):
    assert fault(decode, item) == param


def test_unknown_fields_are_named_once_and_known_ones_are_silent(decode):
    part = {"type": "input_text", "text": "a", "cache_control": {}}
    decoded = decode(input=[content(part), {**content(part), "mood": 1}])
    assert decoded.warnings == ("input[].content[].cache_control", "input[].mood")
