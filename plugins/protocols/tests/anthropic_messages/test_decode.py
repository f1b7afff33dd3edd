import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from mlxp_core.errors import BadRequest
from mlxp_core.types import Counted, CountRequest, Message, OutputShape, Sampling, Text, ToolSpec, WireRequest
from mlxp_protocols.anthropic_messages.decode import MessagesDecoder

HELLO = [{"role": "user", "content": "hi"}]


def fault(decode, **body):
    with pytest.raises(BadRequest) as caught:
        decode(**body)
    assert caught.value.param in caught.value.message
    return caught.value


def test_nothing_said_is_left_to_the_desk(decode):
    decoded = decode()
    request = decoded.request
    assert request.sampling == Sampling()
    assert (request.model, request.thinking, request.output) == ("", None, OutputShape())
    assert (request.stop, request.adapters, request.template_args, request.tools) == ((), None, {}, ())
    assert decoded.warnings == ()


def test_sampling_is_passed_on(decode):
    said = {"temperature": 0, "top_p": 0.5, "top_k": 40, "seed": -(2**70)}
    request = decode(**said, max_tokens=5, stop_sequences=["a", " b"]).request
    assert {name: getattr(request.sampling, name) for name in said} == said
    assert (request.max_tokens, request.stop) == (5, ("a", " b"))


def test_our_extensions_are_passed_on(decode):
    request = decode(
        adapter="a+b",
        sampler_stages={"hlg": {"width": 4.0}, "off": None},
        chat_template_kwargs={"tone": "dry", "enable_thinking": True, "nothing": None},
    ).request
    assert request.adapters == ("a", "b")
    assert request.sampling.stages == {"hlg": Raw(b'{"width": 4.0}')}
    assert (request.template_args, request.thinking) == ({"tone": "dry"}, True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 0),
        ("max_tokens", None),
        ("max_tokens", "many"),
        ("temperature", 1.1),
        ("temperature", -0.1),
        ("temperature", True),
        ("top_p", 1.01),
        ("top_k", -1),
        ("seed", 1.5),
        ("stop_sequences", "a"),
        ("stream", "yes"),
        ("adapter", "a++b"),
        ("messages", []),
        ("messages", "hello"),
        ("messages", [{"role": "user", "content": ""}]),
        ("system", 7),
        ("tools", {}),
        ("mcp_servers", [{"type": "url", "url": "http://x", "name": "x"}]),
        ("thinking", "on"),
        ("output_config", []),
        ("container", "box"),
        ("thread", {"type": "create"}),
        ("compaction", {"type": "summarize"}),
    ],
)
def test_faults_name_their_parameter(decode, field, value):
    assert fault(decode, **{field: value}).param == field


def test_max_tokens_is_required(fixed_protocol):
    with pytest.raises(BadRequest, match="max_tokens: is missing; say how many") as caught:
        fixed_protocol.endpoints[0].decode(WireRequest(body=json.dumps({"messages": HELLO}).encode()))
    assert caught.value.param == "max_tokens"


@pytest.mark.parametrize(
    ("said", "thinking"),
    [
        ({}, None),
        ({"thinking": None}, None),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, True),
        ({"thinking": {"type": "adaptive"}}, True),
        ({"thinking": {"type": "disabled"}}, False),
        ({"thinking": {"type": "disabled"}, "chat_template_kwargs": {"enable_thinking": True}}, True),
        ({"thinking": {"type": "adaptive"}, "chat_template_kwargs": {"enable_thinking": False}}, False),
    ],
)
def test_thinking_is_switched_by_kwargs_or_configuration(decode, said, thinking):
    assert decode(**said).request.thinking == thinking


SCHEMA = {"type": "object", "properties": {"z": {}, "a": {}}}


@pytest.mark.parametrize(
    "said",
    [
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "high"}},
        {"output_format": {"type": "json_schema", "schema": SCHEMA}},
        {
            "output_format": {"type": "other"},
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        },
    ],
)
def test_a_schema_is_passed_on_as_it_was_spelled(decode, said):
    decoded = decode(**said)
    assert decoded.request.output == OutputShape("json_schema", Raw(json.dumps(SCHEMA).encode()))
    assert decoded.warnings == ()


def test_other_shapes_go_on_whole(decode):
    grammar = {"type": "grammar", "rules": "x"}
    assert decode(output_format=grammar).request.output == OutputShape(
        "grammar", Raw(json.dumps(grammar).encode())
    )
    assert decode(output_config={"effort": "low"}).request.output == OutputShape()


@pytest.mark.parametrize("said", [{"type": "json_schema"}, {"type": 7}, {"schema": {}}])
def test_a_faulty_shape_names_its_place(decode, said):
    assert fault(decode, output_config={"format": said}).param.startswith("output_config.format")
    assert fault(decode, output_format=said).param.startswith("output_format")


def test_unknown_fields_are_reported_at_any_depth(decode):
    block = {"type": "text", "text": "hi", "colour": "red"}
    decoded = decode(messages=[{"role": "user", "content": [block], "mood": 1}], metadata={"x": 1}, new=1)
    assert set(decoded.warnings) == {"messages[].content[].colour", "messages[].mood", "new"}


def test_a_count_asks_what_a_message_would_ask(fixed_protocol):
    body = {
        "system": "Be brief.",
        "messages": HELLO,
        "tools": [
            {"name": "look", "input_schema": {}},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "chat_template_kwargs": {"tone": "dry"},
        "context_management": {"edits": []},
        "new": 1,
    }
    exchanged = fixed_protocol.endpoints[1].decode(WireRequest(body=json.dumps(body).encode()))
    assert exchanged.question == CountRequest(
        id="msg_1",
        model="",
        messages=(Message("system", (Text("Be brief."),)), Message("user", (Text("hi"),))),
        tools=(ToolSpec("look"),),
        thinking=True,
        template_args={"tone": "dry"},
    )
    assert exchanged.warnings == ("new", "tools[1] (web_search_20250305)")
    response = exchanged.render(Counted(model="m", tokens=17))
    assert (response.status, json.loads(response.body)) == (200, {"input_tokens": 17})


def test_a_faulty_count_is_a_bad_request(fixed_protocol):
    for body in (b"", b"[]", b"{}", b'{"messages": []}'):
        with pytest.raises(BadRequest):
            fixed_protocol.endpoints[1].decode(WireRequest(body=body))


TEXTS = st.text(max_size=8)
BLOCKS = st.recursive(
    st.one_of(
        st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
        st.fixed_dictionaries({"type": st.just("thinking"), "thinking": TEXTS, "signature": TEXTS}),
        st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": TEXTS}),
        st.fixed_dictionaries(
            {
                "type": st.just("tool_use"),
                "id": TEXTS,
                "name": TEXTS,
                "input": st.dictionaries(TEXTS, TEXTS | st.integers()) | st.none() | TEXTS,
            }
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("image"),
                "source": st.fixed_dictionaries(
                    {"type": st.sampled_from(["base64", "url"]), "data": TEXTS, "url": TEXTS}
                ),
            }
        ),
    ),
    lambda inner: st.fixed_dictionaries(
        {
            "type": st.sampled_from(["tool_result", "mcp_tool_result", "web_fetch_tool_result"]),
            "tool_use_id": TEXTS,
            "content": st.none() | TEXTS | st.lists(inner, max_size=3),
        }
    ),
    max_leaves=4,
)
TURNS = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": TEXTS | st.lists(BLOCKS, max_size=4),
        }
    ),
    min_size=1,
    max_size=4,
)


@given(TURNS)
def test_any_conversation_is_read_or_refused_by_place(turns):
    body = json.dumps({"messages": turns, "max_tokens": 1}).encode()
    try:
        decoded = MessagesDecoder(lambda: "msg_1").decode(WireRequest(body=body))
    except BadRequest as error:
        assert error.param.startswith("messages")  # noqa: PT017  # refusing is allowed, not required
        return
    told = [
        part.text for message in decoded.request.prompt for part in message.parts if isinstance(part, Text)
    ]
    said = [
        block["text"]
        for turn in turns
        for block in (turn["content"] if isinstance(turn["content"], list) else ())
        if block["type"] == "text"
    ]
    said += [turn["content"] for turn in turns if isinstance(turn["content"], str)]
    assert all(any(words in text for text in told) for words in said if words)
    assert all(message.parts for message in decoded.request.prompt)


@given(TURNS)
def test_no_conversation_depends_on_how_its_json_is_spelled(turns):
    decoder = MessagesDecoder(lambda: "msg_1")
    results = []
    for ensure_ascii in (True, False):
        body = json.dumps({"messages": turns, "max_tokens": 1}, ensure_ascii=ensure_ascii)
        try:
            decoded = decoder.decode(WireRequest(body=body.encode("utf-8", "surrogatepass")))
            results.append([[type(part) for part in message.parts] for message in decoded.request.prompt])
        except BadRequest as error:
            results.append(error.param)
    assert results[0] == results[1]
