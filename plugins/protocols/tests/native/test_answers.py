"""The native paths over a running server that is only described."""

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct
from openai.types import Model

from mlxp_core.contracts import PluginReport, ProtocolReport
from mlxp_core.errors import NotFound, UnknownModel
from mlxp_core.types import Capabilities, Catalogue, EngineStats, ModelInfo, WireRequest
from mlxp_protocols.native import plugin


def info(name, **capabilities):
    return ModelInfo(
        id=name,
        path=Path("models") / name,
        family="qwen35",
        context=4096,
        vocabulary=99,
        weight_bytes=10,
        created=1760000000,
        capabilities=Capabilities(**capabilities),
    )


class Described(Struct):
    """What a server says of itself, as plain values."""

    state: EngineStats = EngineStats(state="ready", running=2)
    offered: Catalogue = Catalogue(
        (info("owner/big", vision=True, thinking=True), info("small")), aliases={"fast": "small"}
    )
    running: frozenset[str] = frozenset({"chatcmpl-1"})
    version: str = "1.2.3"

    def stats(self):
        return self.state

    def catalogue(self):
        return self.offered

    def plugins(self):
        reports = {"dist": "mlxp-x", "version": "1", "module": "x"}
        return (
            PluginReport(name="good", state="on", **reports),
            PluginReport(name="bad", state="broken", **reports),
        )

    def protocols(self):
        return (
            ProtocolReport(name="openai-chat", paths=("/v1/chat/completions",), fields={"n": "honoured"}),
            ProtocolReport(name="native", paths=("/v1/models", "/health")),
        )

    def cancel(self, request_id):
        return request_id in self.running


@pytest.fixture
def ask():
    queries = {query.path: query for query in plugin.mlxp_protocols()[0].endpoints}

    def run(path, services=None, **params):
        return queries[path].answer(WireRequest(path=path, params=params), services or Described())

    return run


@pytest.mark.parametrize(
    ("state", "status"), [("ready", 200), ("loading", 503), ("stopping", 503), ("lost", 503)]
)
def test_health_is_200_only_when_ready(ask, state, status):
    fault = "the device is gone" if state == "lost" else None
    response = ask("/health", Described(state=EngineStats(state=state, fault=fault)))
    assert response.status == status
    assert json.loads(response.body) == {"status": state, "model": "owner/big", "fault": fault}


def test_livez_answers_even_when_lost(ask):
    response = ask("/livez", Described(state=EngineStats(state="lost")))
    assert (response.status, json.loads(response.body)) == (200, {"status": "alive"})


def test_the_model_list_is_what_the_official_client_reads(ask):
    listed = json.loads(ask("/v1/models").body)
    assert listed["object"] == "list"
    models = [Model.model_validate(card, strict=True) for card in listed["data"]]
    assert [model.id for model in models] == ["owner/big", "small"]
    big = listed["data"][0]
    assert {name: big[name] for name in ("context_window", "reasoning", "vision", "tools", "family")} == {
        "context_window": 4096,
        "reasoning": True,
        "vision": True,
        "tools": False,
        "family": "qwen35",
    }


@pytest.mark.parametrize(
    ("asked", "found"),
    [("owner/big", "owner/big"), ("/owner/big", "owner/big"), ("small", "small"), ("fast", "small")],
)
def test_a_model_is_found_by_id_or_alias(ask, asked, found):
    assert json.loads(ask("/v1/models/{model_id:path}", model_id=asked).body)["id"] == found


def test_an_unknown_model_is_not_found_and_the_offer_is_named(ask):
    with pytest.raises(UnknownModel, match="owner/big, small") as caught:
        ask("/v1/models/{model_id:path}", model_id="big")
    assert (caught.value.status, caught.value.code) == (404, "model_not_found")
    with pytest.raises(UnknownModel, match="none"):
        ask("/v1/models/{model_id:path}", Described(offered=Catalogue()), model_id="big")


def test_the_service_card_shows_what_is_honoured(ask):
    card = json.loads(ask("/v1").body)
    assert (card["name"], card["version"], card["model"]) == ("mlxp", "1.2.3", "owner/big")
    assert card["endpoints"] == ["/health", "/v1/chat/completions", "/v1/models"]
    assert card["protocols"]["openai-chat"]["fields"] == {"n": "honoured"}


def test_a_server_without_a_model_still_answers(ask):
    empty = Described(offered=Catalogue())
    assert json.loads(ask("/v1", empty).body)["model"] is None
    assert json.loads(ask("/v1/models", empty).body)["data"] == []
    assert json.loads(ask("/health", empty).body)["model"] is None


def test_plugins_and_stats_are_shown_as_they_are(ask):
    shown = json.loads(ask("/v1/plugins").body)["plugins"]
    assert [(report["name"], report["state"]) for report in shown] == [("good", "on"), ("bad", "broken")]
    assert json.loads(ask("/stats").body)["running"] == 2


def test_a_running_request_is_cancelled_by_its_id(ask):
    path = "/v1/requests/{request_id:str}/cancel"
    assert json.loads(ask(path, request_id="chatcmpl-1").body) == {"id": "chatcmpl-1", "cancelled": True}
    with pytest.raises(NotFound, match="chatcmpl-2"):
        ask(path, request_id="chatcmpl-2")


def test_answers_have_the_type_they_announce(ask):
    params = {"model_id": "small", "request_id": "chatcmpl-1"}
    for query in plugin.mlxp_protocols()[0].endpoints:
        response = ask(query.path, **params)
        assert msgspec.json.decode(response.body, type=query.returns)
        assert response.media_type == "application/json"
