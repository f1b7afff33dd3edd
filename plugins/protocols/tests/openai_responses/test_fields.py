"""No field of the official client is without a treatment."""

import inspect
from typing import get_type_hints

from openai.resources.responses import Responses
from openai.resources.responses.input_tokens import InputTokens
from openai.types.responses import response_create_params

from mlxp_protocols.openai_responses.fields import FIELDS
from mlxp_protocols.openai_responses.wire import CountRequest

TREATMENTS = {field.name: field.treatment for field in FIELDS}
TRANSPORT = {"self", "extra_headers", "extra_query", "extra_body", "timeout"}


def test_every_parameter_of_the_official_client_is_classified():
    taken = set(inspect.signature(Responses.create).parameters) - TRANSPORT
    described = set(get_type_hints(response_create_params.ResponseCreateParamsStreaming))
    assert taken
    assert (taken | described) <= set(TREATMENTS)


def test_a_count_reads_what_decides_the_prompt_and_no_more():
    asked = set(inspect.signature(Responses.create).parameters)
    counted = set(inspect.signature(InputTokens.count).parameters) - TRANSPORT
    assert counted - set(TREATMENTS) == {"personality"}, "unknown, so it is reported"
    refused = {name for name in counted & asked if TREATMENTS[name] == "refused"}
    assert (counted & asked) - refused == set(CountRequest.__struct_fields__) - {"chat_template_kwargs"}


def test_extensions_are_marked_as_such():
    official = set(inspect.signature(Responses.create).parameters)
    ours = {field.name for field in FIELDS if field.name not in official}
    assert ours == {field.name for field in FIELDS if field.note.startswith("extension")}


def test_a_refusal_says_what_to_do():
    assert all(field.note for field in FIELDS if field.treatment == "refused")
