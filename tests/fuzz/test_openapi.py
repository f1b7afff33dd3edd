"""Whatever fits the OpenAPI document, or nearly, is answered as the document says, and never by a 500.

Each path gets one plain request, streamed too where it can be, and then requests of three kinds: what the document
allows, what it does not, and what it allows with the fields that matter as they should be, so that work is done and
answers are seen. ``FUZZ_EXAMPLES`` says how many in all;
``make fuzz`` sends 2,000.
"""

import json
import os
from collections import Counter
from importlib.metadata import entry_points

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.server.openapi import document
from mlxp_core.testing.client import serve
from mlxp_core.types import PluginSettings

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "30"))
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
OURS = ("mlxp_protocols.", "mlxp_metrics.", "mlxp_curves.")
PLUGINS = [(point.name, point.load()) for point in entry_points(group="mlxp") if point.value.startswith(OURS)]

TALK = {"messages": [{"role": "user", "content": "hello"}], "tools": None, "tool_choice": None}
SHORT = {"n": 1, "max_tokens": 3, "stop": None, "logit_bias": None, "sampler_stages": None, "adapter": None}
MEANT = {
    "/v1/adapters": {"path": "no/such/adapter"},
    "/v1/messages": {**TALK, **SHORT, "system": "be brief", "output_config": None, "output_format": None},
    "/v1/messages/count_tokens": {**TALK, "output_config": None, "output_format": None},
    "/v1/chat/completions": {**TALK, **SHORT, "max_completion_tokens": 3, "response_format": None},
    "/v1/completions": {**SHORT, "prompt": "hello", "best_of": None, "suffix": None},
    "/v1/embeddings": {"input": ["hello", "there"], "dimensions": None},
    "/v1/responses": {**SHORT, "input": "hello", "tools": None, "tool_choice": None, "text": None},
    "/v1/responses/input_tokens": {"input": "hello", "tools": None, "tool_choice": None},
    **{key: {"prompt": "hello", "messages": None} for key in ("/tokenize", "/v1/tokenize")},
    **{key: {"tokens": [1, 2, 3]} for key in ("/detokenize", "/v1/detokenize")},
    **dict.fromkeys(("/render", "/v1/render"), TALK),
    **{key: {"prompt": "hello"} for key in ("/signal", "/v1/curves/signal")},
    **{
        key: {"prompt": "hello", "n": 1, "max_tokens": 3, "curve": None, "hlg": None}
        for key in ("/generate", "/v1/curves/generate")
    },
}
"""Path -> fields of its body that are set, so that a request of the third kind has a chance."""

STREAMED = {"/v1/messages", "/v1/chat/completions", "/v1/completions", "/v1/responses"}

NEVER = {
    ("post", "/v1/responses/{response_id}/cancel"),
    ("post", "/v1/adapters"),
    ("delete", "/v1/adapters/{adapter_id}"),
}
"""Operations that have no good answer, or none where the model has no arrays."""

RUNNING = "/v1/requests/{request_id}"


def operations():
    """Return method and path of every endpoint that the surfaces bring, and of metrics."""
    loaded = load_plugins(PluginSettings(), extra=PLUGINS, path=())
    registry = build_registry(loaded, load_settings(None, {}, {}, loaded.sections))
    paths = document(registry.protocols.values())["paths"]
    return [(method, path) for path, item in paths.items() for method in item] + [("get", "/metrics")]


@pytest.fixture(scope="module")
def served():
    """A server whose engine says a few letters and ends."""
    with serve([], [ord("h"), ord("i"), 3], plugins=PLUGINS) as running:
        yield running


@pytest.fixture(scope="module")
def told(served):
    """The document as it is served."""
    return served.client.get("/schema/openapi.json").json()


def params_that_exist(served, method, path):
    """Return path parameters that lead to something."""
    if "{model_id}" in path:
        return {"model_id": "sketch" if method == "get" else "sketch/load"}
    if "{response_id}" in path:
        asked = {"input": "hello", "max_output_tokens": 3}
        return {"response_id": served.client.post("/v1/responses", json=asked).json()["id"]}
    return {}


def as_meant(case, stream, served, method, path):
    """Set what matters."""
    if isinstance(case.body, dict):
        case.body = {**case.body, **MEANT[path], **({"stream": stream} if path in STREAMED else {})}
    case.path_parameters = {**(case.path_parameters or {}), **params_that_exist(served, method, path)}
    return case


def test_the_document_lists_every_path(told):
    assert {(method, path) for path, item in told["paths"].items() for method in item} == set(operations())


def test_every_body_has_its_fields_that_matter(told):
    with_body = {path for path, item in told["paths"].items() if "requestBody" in item.get("post", {})}
    assert with_body == set(MEANT)


@pytest.mark.parametrize(("method", "path"), operations())
def test_a_path_does_what_the_document_says(served, told, method, path):
    operation = schemathesis.openapi.from_dict(told)[path][method.upper()]
    allowed, wrong = (operation.as_strategy(generation_mode=mode) for mode in GenerationMode)
    choices = [False, True] if path in STREAMED else [False]
    meant = st.builds(as_meant, allowed, st.sampled_from(choices), *map(st.just, (served, method, path)))
    statuses, streams = Counter(), Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(meant, allowed, wrong))
    def holds(case):
        met(case)

    def met(case):
        response = case.call(base_url=served.url)
        statuses[response.status_code] += 1
        streams[response.headers["content-type"][0].startswith("text/event-stream")] += 1
        case.validate_response(response, checks=CHECKS)

    answered = (method, path) not in NEVER and not path.startswith(RUNNING)
    plain = {"body": {}, "media_type": "application/json"} if path in MEANT else {}
    for stream in choices if answered else []:
        met(as_meant(operation.Case(**plain), stream, served, method, path))
    holds()
    if answered:
        assert statuses[200], f"nothing was answered well: {json.dumps(statuses)}"
        assert bool(streams[True]) == (path in STREAMED)
