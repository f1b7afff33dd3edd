import sys

import msgspec
import pytest
from msgspec import Raw

from mlxp_core.errors import BadRequest
from mlxp_core.types import OutputShape, Sampling, WireRequest


def fault(decode, **body):
    with pytest.raises(BadRequest) as caught:
        decode(**body)
    assert caught.value.param in caught.value.message
    return caught.value


def test_nothing_said_is_left_to_the_desk(decode):
    request = decode().request
    assert request.sampling == Sampling()
    assert request.model == ""
    assert (request.thinking, request.max_tokens, request.top_scores) == (None, None, None)
    assert (request.stop, request.adapters, request.template_args) == ((), None, {})


def test_sampling_is_passed_on(decode):
    said = {
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 40,
        "min_p": 0.1,
        "seed": -(2**70),
        "repetition_penalty": 1.1,
        "repetition_window": 64,
        "presence_penalty": -1,
        "frequency_penalty": 2,
    }
    sampling = decode(**said, logit_bias={"17": -100, "3": 0.5}).request.sampling
    assert {name: getattr(sampling, name) for name in said} == said
    assert sampling.logit_bias == {17: -100.0, 3: 0.5}


def test_settings_of_sampler_stages_are_passed_on_unread(decode):
    stages = decode(sampler_stages={"hlg": {"width": 4.0}, "off": None}).request.sampling.stages
    assert stages == {"hlg": Raw(b'{"width": 4.0}')}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", 2.1),
        ("temperature", -0.1),
        ("temperature", "hot"),
        ("temperature", True),
        ("top_p", 1.01),
        ("top_k", -1),
        ("top_k", 1.5),
        ("min_p", -0.1),
        ("seed", 1.5),
        ("seed", "7"),
        ("n", 0),
        ("n", 9),
        ("max_tokens", 0),
        ("max_completion_tokens", 0),
        ("presence_penalty", 2.1),
        ("frequency_penalty", -2.1),
        ("repetition_penalty", 0),
        ("repetition_window", 0),
        ("top_logprobs", 21),
        ("top_logprobs", 3),
        ("stream", "yes"),
        ("stop", 7),
        ("stop", ""),
        ("stop", ["a"] * 17),
        ("logit_bias", {"-1": 1}),
        ("logit_bias", {"word": 1}),
        ("adapter", "a++b"),
        ("messages", []),
        ("messages", None),
        ("messages", "hello"),
        ("tools", {}),
        ("reasoning_effort", "extreme"),
        ("chat_template_kwargs", []),
        ("response_format", "json"),
    ],
)
def test_faults_name_their_parameter(decode, field, value):
    assert fault(decode, **{field: value}).param == field


def test_a_missing_conversation_names_its_parameter(fixed_protocol):
    with pytest.raises(BadRequest, match="messages: is missing") as caught:
        fixed_protocol.endpoints[0].decode(WireRequest(body=b"{}"))
    assert caught.value.param == "messages"


def test_max_completion_tokens_wins(decode):
    assert decode(max_tokens=5).request.max_tokens == 5
    assert decode(max_tokens=5, max_completion_tokens=7).request.max_tokens == 7
    assert decode(max_tokens=5, max_completion_tokens=None).request.max_tokens == 5


@pytest.mark.parametrize(("stop", "read"), [("a", ("a",)), (["a", "b"], ("a", "b")), ([], ()), (None, ())])
def test_stop_is_a_string_or_a_list(decode, stop, read):
    assert decode(stop=stop).request.stop == read


@pytest.mark.parametrize(
    ("said", "scores"),
    [
        ({}, None),
        ({"logprobs": False}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 20}, 20),
        ({"top_logprobs": 0}, None),
    ],
)
def test_scores_are_asked_for_by_logprobs(decode, said, scores):
    assert decode(**said).request.top_scores == scores


@pytest.mark.parametrize(
    ("said", "thinking"),
    [
        ({}, None),
        ({"reasoning_effort": None}, None),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "minimal"}, True),
        ({"reasoning_effort": "high"}, True),
        ({"chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "high"}, False),
        ({"chat_template_kwargs": {"enable_thinking": None}, "reasoning_effort": "high"}, True),
    ],
)
def test_thinking_is_switched_by_kwargs_or_effort(decode, said, thinking):
    assert decode(**said).request.thinking == thinking


def test_thinking_must_be_a_boolean(decode):
    error = fault(decode, chat_template_kwargs={"enable_thinking": "yes"})
    assert error.param == "chat_template_kwargs.enable_thinking"


def test_other_template_arguments_are_passed_on(decode):
    kwargs = {"enable_thinking": True, "preserve": True, "depth": 3, "tone": "dry", "nothing": None}
    assert decode(chat_template_kwargs=kwargs).request.template_args == {
        "preserve": True,
        "depth": 3,
        "tone": "dry",
    }
    assert fault(decode, chat_template_kwargs={"deep": {}}).param.startswith("chat_template_kwargs")


@pytest.mark.parametrize(
    ("spec", "ids"),
    [
        ("a", ("a",)),
        ("a+b", ("a", "b")),
        ("a, b", ("a", "b")),
        ("none", ()),
        ("None", ()),
        ("", ()),
        (None, None),
    ],
)
def test_adapters_are_named_in_one_string(decode, spec, ids):
    assert decode(adapter=spec).request.adapters == ids


def test_response_formats_become_output_shapes(decode):
    schema = {"type": "object"}
    assert decode(response_format={"type": "text"}).request.output == OutputShape()
    assert decode(response_format={"type": "json_object"}).request.output == OutputShape("json_object")
    given = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    output = decode(response_format=given).request.output
    assert (output.kind, msgspec.json.decode(output.body)) == ("json_schema", schema)
    output = decode(response_format={"type": "regex", "pattern": "a+"}).request.output
    assert (output.kind, msgspec.json.decode(output.body)) == ("regex", {"type": "regex", "pattern": "a+"})


def test_a_schema_must_be_there(decode):
    error = fault(decode, response_format={"type": "json_schema", "json_schema": {"name": "x"}})
    assert error.param == "response_format.json_schema.schema"
    assert fault(decode, response_format={}).param == "response_format.type"


def test_raw_values_do_not_hold_on_to_the_body(fixed_protocol):
    """A view would keep the whole body, photographs included, as long as the request lives."""
    shaped = {"response_format": {"type": "regex", "pattern": "a"}, "sampler_stages": {"hlg": {}}}
    body = msgspec.json.encode({"messages": [{"role": "user", "content": "hi"}], **shaped})
    holders = sys.getrefcount(body)
    request = fixed_protocol.endpoints[0].decode(WireRequest(body=body)).request
    assert request.output.body == Raw(b'{"type":"regex","pattern":"a"}')
    assert sys.getrefcount(body) == holders


def test_streaming_only_picks_the_encoder(decode):
    streaming, whole = decode(stream=True), decode(stream=False)
    assert streaming.request == whole.request
    assert (streaming.encoder.streaming, whole.encoder.streaming) == (True, False)


def test_only_text_is_a_modality(decode):
    assert decode(modalities=["text"]).warnings == ()
    assert fault(decode, modalities=["text", "audio"]).param == "modalities[1]"


def test_unknown_fields_are_named_at_any_depth_once(decode):
    decoded = decode(
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}], "mood": 1},
            {"role": "user", "content": [{"type": "text", "text": "b", "cache_control": {}}]},
        ],
        stream_options={"include_usage": True, "colour": "red"},
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"free": 1}}}],
        wat=1,
    )
    assert set(decoded.warnings) == {
        "messages[].content[].cache_control",
        "messages[].mood",
        "stream_options.colour",
        "wat",
    }
    assert len(decoded.warnings) == 4
