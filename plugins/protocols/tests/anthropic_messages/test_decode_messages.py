import base64
import json

import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, ImageBytes, ImageUrl, Message, Result, Text, Thinking

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
}
PICTURE = ImageBytes(PNG, "image/png")
MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def read(decode, *messages, **body):
    decoded = decode(messages=list(messages), **body)
    assert decoded.warnings == ()
    return decoded.request.prompt


def said(decode, role, *blocks):
    return read(decode, {"role": role, "content": list(blocks)})


def fault(decode, role, *blocks):
    with pytest.raises(BadRequest) as caught:
        said(decode, role, *blocks)
    assert caught.value.param in caught.value.message
    return caught.value


def test_strings_are_texts(decode):
    told = read(decode, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})
    assert told == (Message("user", (Text("a"),)), Message("assistant", (Text("b"),)))


def test_the_system_prompt_comes_first_a_line_a_block(decode):
    blocks = [text("a", **MARK), text(""), text("b", citations=None)]
    for system in ("a\nb", blocks):
        told = read(decode, {"role": "user", "content": "hi"}, system=system)
        assert told[0] == Message("system", (Text("a\nb"),))
    for system in (None, "", []):
        assert len(read(decode, {"role": "user", "content": "hi"}, system=system)) == 1


def test_accounts_in_the_system_prompt_do_not_change_the_prompt(decode):
    prompts = []
    for change in ("cch=1;", "cch=2;"):
        system = [
            text(f"x-anthropic-billing-header: cc_version=2; {change}"),
            text("You write code.", **MARK),
        ]
        prompts.append(read(decode, {"role": "user", "content": "hi"}, system=system))
    assert prompts[0] == prompts[1]
    assert prompts[0][0] == Message("system", (Text("You write code."),))


def test_a_system_message_may_stand_anywhere(decode):
    told = read(
        decode,
        {"role": "user", "content": "hi"},
        {"role": "system", "content": [text("x")], "clear_at": "never", "output_config": {"effort": "low"}},
    )
    assert told[1] == Message("system", (Text("x"),))


def test_blocks_keep_their_order(decode):
    told = said(decode, "user", text("before", **MARK), IMAGE, text("after"), text("more"))
    assert told == (Message("user", (Text("before"), PICTURE, Text("after\nmore"))),)


def test_an_answer_goes_on_where_its_blocks_were_cut(decode):
    told = said(decode, "assistant", text("Hel"), text("lo"))
    assert told == (Message("assistant", (Text("Hello"),)),)


@pytest.mark.parametrize(
    ("source", "image"),
    [
        ({"type": "url", "url": "https://x/y.png"}, ImageUrl("https://x/y.png")),
        ({"type": "url", "url": f"data:image/png;base64,{IMAGE['source']['data']}"}, PICTURE),
        ({"type": "base64", "data": IMAGE["source"]["data"]}, ImageBytes(PNG, "")),
    ],
)
def test_images_come_as_bytes_or_by_address(decode, source, image):
    assert said(decode, "user", {"type": "image", "source": source}) == (Message("user", (image,)),)


def test_thinking_is_kept_with_its_signature_and_what_is_redacted_is_dropped(decode):
    told = said(
        decode,
        "assistant",
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "", "signature": "abc"},
        {"type": "thinking", "thinking": "so", "signature": "abc"},
        text("yes"),
    )
    assert told == (Message("assistant", (Thinking("hm"), Thinking("so", "abc"), Text("yes"))),)


def test_calls_keep_id_order_and_spelling(decode):
    given = {"z": 1, "a": {"deep": ["é", None]}}
    told = said(
        decode,
        "assistant",
        text("Looking."),
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": given, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}, **MARK},
        {"type": "tool_use", "id": "toolu_3", "name": "none"},
    )
    calls = (
        Call("toolu_1", "look", json.dumps(given)),
        Call("toolu_2", "list", "{}"),
        Call("toolu_3", "none", "{}"),
    )
    assert told == (Message("assistant", (Text("Looking."), *calls)),)


def test_results_stand_alone_where_they_stood(decode):
    told = said(
        decode,
        "user",
        {"type": "tool_result", "tool_use_id": "a", "content": "plain"},
        {"type": "tool_result", "tool_use_id": "b", "content": [text("x"), IMAGE, text("y"), text("z")]},
        text("And now?"),
        {"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": [text("no")], **MARK},
        {"type": "tool_result", "tool_use_id": "d"},
    )
    assert told == (
        Message("tool", (Result("a", (Text("plain"),)),)),
        Message("tool", (Result("b", (Text("x"), PICTURE, Text("y\nz"))),)),
        Message("user", (Text("And now?"),)),
        Message("tool", (Result("c", (Text("no"),), failed=True),)),
        Message("tool", (Result("d", ()),)),
    )


def test_documents_and_finds_are_text(decode):
    plain = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "body"}}
    inner = {"type": "content", "content": [text("one"), IMAGE, text("two")]}
    found = {"type": "search_result", "source": "https://x", "title": "X", "content": [text("a"), text("b")]}
    told = said(
        decode,
        "user",
        {**plain, "title": "T", "context": "C", "citations": {"enabled": True}},
        {"type": "document", "source": inner},
        found,
        {"type": "document", "source": {"type": "content", "content": "three"}},
    )
    assert told == (
        Message("user", (Text("T\nC\nbody\none"), PICTURE, Text("two\nX\nhttps://x\na\nb\nthree"))),
    )


def test_results_may_show_whatever_the_client_shows_in_them(decode):
    tabs = [{"id": 1}]
    shown = [
        {"type": "tool_reference", "tool_name": "look"},
        {"type": "browser_state", "tabs": tabs},
        {"type": "document", "source": {"type": "text", "data": "body"}},
        {"type": "search_result", "source": "s", "title": "t", "content": []},
    ]
    told = said(decode, "user", {"type": "tool_result", "tool_use_id": "a", "content": shown})
    assert told == (Message("tool", (Result("a", (Text('look\n[{"id": 1}]\nbody\nt\ns'),)),)),)


def test_calls_that_another_server_ran_are_kept_with_their_results(decode):
    page = {"type": "web_search_result", "title": "X", "url": "https://x", "encrypted_content": "A" * 100}
    told = said(
        decode,
        "assistant",
        text("Searching."),
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [page]},
        {"type": "mcp_tool_use", "id": "mcp_1", "name": "add", "server_name": "sums", "input": {}},
        {
            "type": "mcp_tool_result",
            "tool_use_id": "mcp_1",
            "is_error": True,
            "content": [text("a"), text("b")],
        },
        text("Done."),
    )
    kept = json.dumps(
        [{"type": "web_search_result", "title": "X", "url": "https://x"}], separators=(",", ":")
    )
    assert told == (
        Message("assistant", (Text("Searching."), Call("srv_1", "web_search", '{"query": "x"}'))),
        Message("tool", (Result("srv_1", (Text(kept),)),)),
        Message("assistant", (Call("mcp_1", "add", "{}"),)),
        Message("tool", (Result("mcp_1", (Text("a\nb"),), failed=True),)),
        Message("assistant", (Text("Done."),)),
    )


@pytest.mark.parametrize(
    ("content", "parts"),
    [(None, ()), ("words", (Text("words"),)), ({"stdout": "1"}, (Text('{"stdout":"1"}'),))],
)
def test_results_from_elsewhere_are_words_or_json(decode, content, parts):
    block = {"type": "code_execution_tool_result", "tool_use_id": "x", "content": content}
    assert said(decode, "assistant", block, text("ok"))[0] == Message("tool", (Result("x", parts),))


def test_summaries_are_kept_and_marks_are_dropped(decode):
    told = said(
        decode,
        "assistant",
        {"type": "compaction", "content": "So far: nothing."},
        {"type": "compaction", "content": None, "encrypted_content": "x"},
        {"type": "mcp_tool_listing", "mcp_server_name": "x", "tools": []},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
    )
    assert told == (Message("assistant", (Text("So far: nothing."),)),)


def test_messages_that_say_nothing_are_left_out(decode):
    told = read(
        decode,
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [text("")]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
        {"role": "user", "content": []},
        {"role": "user"},
    )
    assert told == (Message("user", (Text("hi"),)),)


@pytest.mark.parametrize(
    ("block", "word"),
    [
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": ""}},
            "PDF",
        ),
        ({"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}, "PDF"),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "files"),
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, "files"),
        ({"type": "image", "source": {"type": "base64", "data": "!"}}, "base64"),
        ({"type": "image", "source": {"type": "url", "url": "ftp://x"}}, "http"),
        ({"type": "container_upload", "file_id": "f"}, "container_upload"),
        ({"type": "tool_addition", "tool": {}}, "tool_addition"),
        ({"type": "tool_removal", "tool": {}}, "tool_removal"),
        ({"type": "video"}, "tool_result"),
        ({"type": "text"}, "missing"),
        ({"text": "no type"}, "type"),
        ({"type": "tool_use", "id": "x", "name": "f", "input": {}}, "role"),
        ({"type": "thinking", "thinking": "hm"}, "role"),
        ({"type": "tool_result", "content": "to what?"}, "tool_use_id"),
        ({"type": "tool_result", "tool_use_id": "x", "content": [{"type": "tool_use"}]}, "type"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(decode, block, word):
    error = fault(decode, "user", text("hi"), block)
    assert error.param.startswith("messages[0].content[1]")
    assert word in error.message


@pytest.mark.parametrize("role", ["assistant", "system"])
def test_only_users_show_images(decode, role):
    assert fault(decode, role, IMAGE).param == "messages[0].content[0]"


def test_arguments_are_an_object(decode):
    error = fault(decode, "assistant", {"type": "tool_use", "id": "x", "name": "f", "input": "{}"})
    assert error.param == "messages[0].content[0].input"


@pytest.mark.parametrize("role", ["tool", "developer", None])
def test_unknown_roles_are_refused(decode, role):
    with pytest.raises(BadRequest, match="use user, assistant or system") as caught:
        read(decode, {"role": role, "content": "hi"})
    assert caught.value.param == "messages[0].role"
