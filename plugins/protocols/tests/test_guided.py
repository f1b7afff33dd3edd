"""Every surface that generates takes the same shapes under the same names."""

from importlib.metadata import entry_points

import pytest
from msgspec import Raw, json

from mlxp_core.errors import BadRequest
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.types import OutputShape, PluginSettings, WireRequest

POINTS = {
    point.name: point for point in entry_points(group="mlxp") if point.value.startswith("mlxp_protocols.")
}
HI = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object"}
BODIES = {
    "openai-chat": {"messages": HI},
    "openai-responses": {"input": "hi"},
    "openai-completions": {"prompt": "hi"},
    "anthropic": {"messages": HI, "max_tokens": 5},
}
OWN = {
    "openai-chat": ("response_format", {"type": "json_object"}),
    "openai-responses": ("text", {"format": {"type": "json_object"}}),
    "anthropic": ("output_config", {"format": {"type": "json_schema", "schema": SCHEMA}}),
}
GUIDED = {
    "guided_json": (SCHEMA, OutputShape("json_schema", Raw(b'{"type":"object"}'))),
    "guided_regex": ("a+", OutputShape("regex", Raw(b'{"regex":"a+"}'))),
    "guided_choice": (["a", "b"], OutputShape("choice", Raw(b'{"choice":["a","b"]}'))),
    "guided_grammar": ("start: /a/", OutputShape("grammar", Raw(b'{"grammar":"start: /a/"}'))),
}


@pytest.fixture(params=BODIES)
def surface(request):
    return request.param


@pytest.fixture
def decode(surface):
    plugins = load_plugins(PluginSettings(), extra=[(surface, POINTS[surface].load())], path=())
    protocol = build_registry(plugins, load_settings(None, {}, {}, plugins.sections)).protocols[surface]

    def run(**fields):
        return protocol.endpoints[0].decode(WireRequest(body=json.encode({**BODIES[surface], **fields})))

    return run


@pytest.mark.parametrize("field", GUIDED)
def test_a_shape_is_passed_on_and_named_in_errors_as_it_was_asked(decode, field):
    given, shape = GUIDED[field]
    decoded = decode(**{field: given})
    assert (decoded.request.output, decoded.names["output"]) == (shape, field)
    assert decoded.warnings == ()


@pytest.mark.parametrize("field", GUIDED)
def test_null_is_no_shape(decode, field):
    assert decode(**{field: None}).request.output == OutputShape()


@pytest.mark.parametrize("field", GUIDED)
def test_one_shape_is_enough(decode, surface, field):
    others = [other for other in GUIDED if other != field]
    bodies = [{field: GUIDED[field][0], other: GUIDED[other][0]} for other in others]
    if surface in OWN:
        name, value = OWN[surface]
        bodies.append({field: GUIDED[field][0], name: value})
    for body in bodies:
        with pytest.raises(BadRequest, match="an answer has one shape"):
            decode(**body)


def test_a_budget_of_thinking_is_passed_on(decode, surface):
    if surface == "openai-completions":
        assert decode().request.thinking_budget is None
    elif surface == "anthropic":
        thinking = {"type": "enabled", "budget_tokens": 1024}
        decoded = decode(thinking=thinking)
        assert decoded.request.thinking_budget == 1024
        assert decoded.names["thinking_budget"] == "thinking.budget_tokens"
        assert decode(thinking={**thinking, "type": "disabled"}).request.thinking_budget is None
    else:
        assert decode(thinking_budget=7).request.thinking_budget == 7
        with pytest.raises(BadRequest) as caught:
            decode(thinking_budget=-1)
        assert caught.value.param == "thinking_budget"
