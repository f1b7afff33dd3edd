"""What all surfaces promise alike."""

from importlib.metadata import entry_points

import pytest
from msgspec import json

from mlxp_core.errors import BadRequest, Unauthorized
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.client import SKETCH, serve
from mlxp_core.types import Capabilities, PluginSettings

POINTS = {
    point.name: point for point in entry_points(group="mlxp") if point.value.startswith("mlxp_protocols.")
}
NAMES = sorted(POINTS)


def loaded(*names):
    """Return the surfaces of these plugins by name."""
    plugins = load_plugins(PluginSettings(), extra=[(name, POINTS[name].load()) for name in names], path=())
    return build_registry(plugins, load_settings(None, {}, {}, plugins.sections)).protocols


@pytest.fixture(scope="module")
def surfaces():
    """All of them."""
    return loaded(*NAMES)


def test_each_surface_is_a_plugin_of_its_own(surfaces):
    assert sorted(surfaces) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_what_the_document_says(surfaces, name):
    protocol = surfaces[name]
    for error in (BadRequest("what", param="x"), Unauthorized("who")):
        assert json.decode(protocol.render_error(error).body, type=protocol.error)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_field_needs_is_honoured(surfaces, name):
    able = Capabilities.__struct_fields__
    for field in surfaces[name].fields:
        assert field.needs is None or (field.treatment == "honoured" and field.needs in able)


def asked(endpoint):
    path = endpoint.path.replace("{model_id:path}", "m" if endpoint.method == "GET" else "m/pin")
    return endpoint.method, path.replace("{request_id:str}", "r").replace("{response_id:str}", "r")


def nowhere(method, path):
    return f"there is no {method} {path};"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "native"])
def test_switched_off_alone_its_paths_are_nowhere_in_the_native_shape(surfaces, name):
    others = loaded(*(other for other in NAMES if other != name))
    with serve(list(others.values())) as served:
        assert name not in served.client.get("/v1").json()["protocols"]
        for endpoint in surfaces[name].endpoints:
            method, path = asked(endpoint)
            answer = served.client.request(method, path, json={})
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path
            assert nowhere(method, path) in answer.text
        for other in others.values():
            for method, path in map(asked, other.endpoints):
                assert nowhere(method, path) not in served.client.request(method, path, json={}).text


def test_without_the_native_surface_the_plain_shape_is_left(surfaces):
    with serve([protocol for name, protocol in surfaces.items() if name != "native"]) as served:
        for endpoint in surfaces["native"].endpoints:
            method, path = asked(endpoint)
            answer = served.client.request(method, path)
            assert answer.status_code == 404
            assert answer.json()["error"].keys() == {"message", "type", "param", "code"}


@pytest.mark.parametrize("name", NAMES)
def test_without_a_key_each_surface_says_so_in_its_own_shape(surfaces, name):
    flags = {"server": {"port": 0, "api_keys": ["k"]}}
    protocol = surfaces[name]
    with serve(list(surfaces.values()), flags=flags) as served:
        for endpoint in protocol.endpoints:
            method, path = asked(endpoint)
            answer = served.client.request(method, path, json={"stream": True})
            if endpoint.access == "open":
                assert answer.status_code == 200
                continue
            assert answer.status_code == 401
            assert json.decode(answer.content, type=protocol.error)
            assert "x-api-key" in answer.text


def test_the_card_says_what_a_model_cannot_do_for_every_surface(surfaces):
    plain = SKETCH.__class__(
        id="plain",
        path=SKETCH.path,
        family="f",
        context=9,
        vocabulary=9,
        weight_bytes=0,
        capabilities=Capabilities(embeddings=False),
    )
    with serve(list(surfaces.values()), models=[plain]) as served:
        lacking = served.client.get("/v1").json()["models"]["plain"]["unavailable"]
    assert lacking["openai-chat"]["tools"] == lacking["anthropic"]["tools"] == "tools"
    assert lacking["openai-responses"]["reasoning"] == "thinking"
    assert lacking["openai-embeddings"] == {"input": "embeddings"}
