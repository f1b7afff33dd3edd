"""No field, block, tool choice or way to think of the official client is without a treatment."""

import inspect
from typing import get_args, get_origin, get_type_hints

import pytest
from anthropic.resources.beta.messages import Messages as BetaMessages
from anthropic.resources.messages import Messages
from anthropic.types import ThinkingConfigParam, ToolChoiceParam, ToolResultBlockParam, message_create_params
from anthropic.types.beta import BetaContentBlockParam, BetaThinkingConfigParam, BetaToolResultBlockParam
from anthropic.types.beta import message_create_params as beta_create_params
from anthropic.types.content_block_param import ContentBlockParam
from msgspec.inspect import multi_type_info, type_info

from mlxp_core.errors import BadRequest
from mlxp_protocols.anthropic_messages import wire, wire_blocks
from mlxp_protocols.anthropic_messages.fields import FIELDS

TREATMENTS = {field.name: field.treatment for field in FIELDS}
OLDER = {"temperature", "top_p", "top_k"}
"""Parameters that clients sent before this one."""

TRANSPORT = {"self", "extra_headers", "extra_query", "extra_body", "timeout"}


def parameters():
    named = set()
    for messages in (Messages, BetaMessages):
        for call in (messages.create, messages.stream, messages.parse, messages.count_tokens):
            named |= set(inspect.signature(call).parameters)
    for described in (message_create_params, beta_create_params):
        named |= set(get_type_hints(described.MessageCreateParamsStreaming))
    return named - TRANSPORT


def options(union):
    """Return the classes in a union, however it is nested."""
    if inspect.isclass(union) and get_origin(union) is None:
        return [] if union is str else [union]
    return [option for inner in get_args(union) for option in options(inner)]


def kinds(union):
    """Return the official values of ``type`` in a union, with the fields beside it."""
    found = {}
    for option in options(union):
        models = getattr(option, "model_fields", {})
        hints = {field.alias or name: field.annotation for name, field in models.items()}
        hints = hints or get_type_hints(option)
        for tag in get_args(hints["type"]):
            found[tag] = found.get(tag, set()) | set(hints) - {"type"}
    return found


def read(shape):
    return {option.tag: {field.encode_name for field in option.fields} for option in type_info(shape).types}


def test_every_parameter_of_the_official_client_is_classified():
    assert len(parameters()) > 20
    assert parameters() <= set(TREATMENTS)


def test_extensions_are_marked_as_such():
    ours = set(TREATMENTS) - parameters() - OLDER
    assert ours == {field.name for field in FIELDS if field.note.startswith("extension")}


def test_a_refusal_says_what_to_do():
    assert all(field.note for field in FIELDS if field.treatment == "refused")


@pytest.mark.parametrize(
    ("official", "ours"),
    [
        (ContentBlockParam, wire.Block),
        (BetaContentBlockParam, wire.Block),
        (get_type_hints(ToolResultBlockParam)["content"], wire_blocks.ShownInResult),
        (get_type_hints(BetaToolResultBlockParam)["content"], wire_blocks.ShownInResult),
    ],
    ids=["blocks", "beta-blocks", "results", "beta-results"],
)
def test_every_block_is_known_with_all_its_fields(official, ours):
    told, known = kinds(official), read(ours)
    assert told
    for tag, fields in told.items():
        assert fields <= known[tag], f"{tag}: unknown fields {sorted(fields - known[tag])}"


@pytest.mark.parametrize("official", [ThinkingConfigParam, BetaThinkingConfigParam])
def test_every_way_to_think_is_known(decode, official):
    for tag, fields in kinds(official).items():
        assert fields <= {"budget_tokens", "display", "block_binding"}
        assert decode(thinking={"type": tag}).request.thinking == (tag != "disabled")


def test_every_tool_choice_is_known(decode):
    tools = [{"name": "look", "input_schema": {}}]
    for tag in kinds(ToolChoiceParam):
        assert decode(tools=tools, tool_choice={"type": tag, "name": "look"}).warnings == ()
    with pytest.raises(BadRequest, match=r"use auto, any, tool or none"):
        decode(tools=tools, tool_choice={"type": "required"})


def test_no_block_has_two_readings():
    tags = [option.tag for option in multi_type_info([wire.Block])[0].types]
    assert len(tags) == len(set(tags))
