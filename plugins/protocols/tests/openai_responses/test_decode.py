import sys

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from mlxp_core.errors import BadRequest
from mlxp_core.types import Finished, OutputShape, Sampling, Timing, Usage, WireRequest
from mlxp_protocols.openai_responses.decode_items import KINDS, read_item


def fault(decode, **body):
    with pytest.raises(BadRequest) as caught:
        decode(**body)
    assert caught.value.param in caught.value.message
    return caught.value


def test_nothing_said_is_left_to_the_desk(decode):
    request = decode().request
    assert (request.id, request.model, request.sampling) == ("resp_1", "", Sampling())
    assert (request.thinking, request.max_tokens, request.top_scores) == (None, None, None)
    assert (request.adapters, request.template_args, request.output) == (None, {}, OutputShape())


def test_sampling_is_passed_on(decode):
    said = {
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 40,
        "min_p": 0.1,
        "seed": -(2**70),
        "repetition_penalty": 1.1,
        "repetition_window": 64,
    }
    sampling = decode(**said, sampler_stages={"hlg": {"width": 4.0}, "off": None}).request.sampling
    assert {name: getattr(sampling, name) for name in said} == said
    assert sampling.stages == {"hlg": Raw(b'{"width": 4.0}')}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input", 7),
        ("input", ""),
        ("input", []),
        ("input", None),
        ("temperature", 2.1),
        ("top_p", 1.01),
        ("top_k", -1),
        ("min_p", -0.1),
        ("seed", 1.5),
        ("max_output_tokens", 0),
        ("top_logprobs", 21),
        ("stream", "yes"),
        ("background", True),
        ("adapter", "a++b"),
        ("tools", "hello"),
        ("instructions", ["x"]),
        ("metadata", {"a": 1}),
        ("truncation", "sometimes"),
        ("text", "json"),
        ("chat_template_kwargs", []),
        ("conversation", "conv_1"),
        ("prompt", {"id": "pmpt_1"}),
    ],
)
def test_faults_name_their_parameter(decode, field, value):
    error = fault(decode, **{field: value})
    assert error.param == field or error.param.startswith(f"{field}[")


def test_deeper_faults_name_their_path(decode):
    assert fault(decode, reasoning={"effort": "extreme"}).param == "reasoning.effort"
    assert fault(decode, text={"format": {}}).param == "text.format.type"
    assert fault(decode, text={"verbosity": "loud"}).param == "text.verbosity"


def test_a_missing_input_is_told_how_to_be_sent(surface):
    with pytest.raises(BadRequest, match="input: is missing"):
        surface.endpoints[0].decode(WireRequest(body=b"{}"))


def test_an_empty_input_is_enough_beside_instructions(decode):
    assert len(decode(input="", instructions="Say hi.").request.prompt) == 1


def test_max_output_tokens_wins(decode):
    assert decode(max_tokens=5).request.max_tokens == 5
    assert decode(max_tokens=5, max_output_tokens=7).request.max_tokens == 7


@pytest.mark.parametrize(
    ("said", "scores"),
    [
        ({}, None),
        ({"top_logprobs": 0}, None),
        ({"top_logprobs": 3}, 3),
        ({"include": ["message.output_text.logprobs"]}, 0),
        ({"include": ["message.output_text.logprobs"], "top_logprobs": 2}, 2),
        ({"include": ["reasoning.encrypted_content"]}, None),
    ],
)
def test_scores_are_asked_for_by_include_or_number(decode, said, scores):
    decoded = decode(**said)
    assert (decoded.request.top_scores, decoded.warnings) == (scores, ())


@pytest.mark.parametrize(
    ("said", "thinking"),
    [
        ({}, None),
        ({"reasoning": {"summary": "auto"}}, None),
        ({"reasoning": {"effort": "none"}}, False),
        ({"reasoning": {"effort": "low"}}, True),
        ({"reasoning": {"effort": "high"}, "chat_template_kwargs": {"enable_thinking": False}}, False),
    ],
)
def test_thinking_is_switched_by_effort_or_kwargs(decode, said, thinking):
    assert decode(**said).request.thinking == thinking


def test_extensions_are_passed_on(decode):
    request = decode(adapter="a+b", chat_template_kwargs={"enable_thinking": True, "depth": 3}).request
    assert (request.adapters, request.template_args) == (("a", "b"), {"depth": 3})


def test_formats_become_output_shapes(decode):
    schema = {"type": "object"}
    named = {"type": "json_schema", "name": "x", "schema": schema, "strict": True}
    assert decode(text={"format": {"type": "text"}, "verbosity": "low"}).request.output == OutputShape()
    assert decode(text={"format": {"type": "json_object"}}).request.output == OutputShape("json_object")
    output = decode(text={"format": named}).request.output
    assert (output.kind, msgspec.json.decode(output.body)) == ("json_schema", schema)
    output = decode(text={"format": {"type": "regex", "pattern": "a+"}}).request.output
    assert (output.kind, msgspec.json.decode(output.body)) == ("regex", {"type": "regex", "pattern": "a+"})
    assert fault(decode, text={"format": {"type": "json_schema"}}).param == "text.format.schema"


def test_what_has_no_effect_is_said(decode):
    assert decode(truncation="disabled").warnings == ()
    assert decode(truncation="auto").warnings == ("truncation (auto)",)
    assert decode(wat=1, text={"mood": 1}).warnings == ("wat", "text.mood")


def test_streaming_only_picks_the_encoder(decode):
    streaming, whole = decode(stream=True), decode(stream=False)
    assert msgspec.structs.replace(whole.request, id="resp_1") == streaming.request
    assert (streaming.encoder.streaming, whole.encoder.streaming) == (True, False)


def test_nothing_holds_on_to_the_body(surface):
    """A view would keep the whole body, photographs included, as long as the response is kept."""
    body = msgspec.json.encode(
        {
            "input": [{"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}],
            "tool_choice": "auto",
            "text": {"format": {"type": "regex", "pattern": "a"}},
            "sampler_stages": {"hlg": {}},
        }
    )
    holders = sys.getrefcount(body)
    decoded = surface.endpoints[0].decode(WireRequest(body=body))
    assert decoded.request.output.kind == "regex"
    assert sys.getrefcount(body) == holders


WORDS = st.sampled_from(["user", "assistant", "x", "{}", "https://x.test/a.png", ""])
NAMES = st.sampled_from(["type", "role", "content", "text", "id", "name", "input", "output", "tools"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=8,
)
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["input_text", "output_text", "refusal", "input_image", "input_file", "odd"])},
    optional={"text": WORDS, "refusal": WORDS, "image_url": WORDS | JSON, "annotations": JSON},
)
CONTENT = JSON | st.lists(PARTS, max_size=3)
ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from([*sorted(KINDS), "compaction", "odd"]) | st.none()},
    optional={
        "role": st.sampled_from(["user", "assistant", "system", "developer"]),
        "content": CONTENT,
        "summary": st.lists(st.fixed_dictionaries({"text": WORDS})),
        "id": WORDS | JSON,
        "call_id": WORDS,
        "name": WORDS,
        "input": WORDS,
        "arguments": JSON,
        "action": JSON,
        "operation": JSON,
        "output": CONTENT | st.fixed_dictionaries({"image_url": WORDS}),
        "status": WORDS | JSON,
        "error": JSON,
    },
)
TOOLS = st.fixed_dictionaries(
    {"type": st.sampled_from(["function", "custom", "namespace", "odd"])},
    optional={"name": WORDS, "parameters": JSON, "format": JSON, "tools": JSON},
)


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    items=st.lists(ITEMS | JSON, max_size=4),
    tools=st.none() | st.lists(TOOLS | JSON, max_size=3),
    choice=st.none() | JSON,
)
def test_whatever_is_sent_is_read_or_refused_and_what_is_read_can_be_kept(
    surface, store, items, tools, choice
):
    body = msgspec.json.encode({"input": items, "tools": tools, "tool_choice": choice})
    try:
        decoded = surface.endpoints[0].decode(WireRequest(body=body))
    except BadRequest:
        return
    decoded.encoder.feed(Finished("stop", Usage(), Timing()))
    turn = store.get(decoded.request.id)
    kept = [read_item(item, "input[]").item for item in turn.given]
    assert len(kept) <= len(items)
    again = surface.endpoints[0].decode(
        WireRequest(body=msgspec.json.encode({"previous_response_id": turn.id, "input": []}))
    )
    assert again.request.prompt == decoded.request.prompt
