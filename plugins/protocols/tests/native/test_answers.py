"""The native paths over a running server that is only described."""

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw, Struct
from openai.types import Model

from mlxp_core.contracts import PluginReport, ProtocolReport, Query, SettingInForce
from mlxp_core.errors import BadRequest, NotFound, Unavailable, UnknownModel
from mlxp_core.memory import Account, Footprint, MemoryPlan
from mlxp_core.memory.footprint import Slots
from mlxp_core.types import (
    Capabilities,
    Catalogue,
    ChoiceProgress,
    EngineSettings,
    EngineStats,
    KVInForce,
    Machine,
    ModelInfo,
    ModelState,
    RunningRequest,
    WireRequest,
)
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
    plan: object = None
    inside: frozenset[str] = frozenset({"chatcmpl-1"})
    version: str = "1.2.3"
    started_s: float = 1760000000.5

    @property
    def settings(self):
        return self

    def in_force(self):
        told = {"secret": False, "layer": "flag", "source": "--port"}
        return (SettingInForce(name="server.port", value=Raw(b"9000"), **told),)

    def section(self, kind):
        assert kind is EngineSettings
        return EngineSettings(batch=4, queue=16)

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
            ProtocolReport(
                name="openai-chat",
                paths=("/v1/chat/completions",),
                fields={"n": "honoured", "tools": "honoured", "reasoning_effort": "honoured"},
                needs={"tools": "tools", "reasoning_effort": "thinking"},
            ),
            ProtocolReport(name="native", paths=("/v1/models", "/health")),
        )

    def running(self, request_id):
        if request_id not in self.inside:
            return None
        return RunningRequest(
            id=request_id,
            protocol="openai-chat",
            model="small",
            age_s=1.5,
            choices=(ChoiceProgress(choice=0, state="prefilling", prompt=9, read=3),),
        )

    def cancel(self, request_id):
        return request_id in self.inside

    def fit(self, model="", *, rows=1, context=None, skus=False):
        if self.plan is None:
            return None
        return self.plan.fit(model or "owner/big", rows=rows, context=context, skus=skus)


@pytest.fixture
def ask():
    queries = {(query.method, query.path): query for query in plugin.mlxp_protocols()[0].endpoints}

    def run(path, services=None, *, method="GET", query=None, **params):
        asked = WireRequest(method=method, path=path, params=params, query=query or {})
        return queries[method, path].answer(asked, services or Described())

    return run


def test_settings_come_with_their_source(ask):
    (told,) = json.loads(ask("/v1/settings").body)["settings"]
    assert told == {
        "name": "server.port",
        "value": 9000,
        "secret": False,
        "layer": "flag",
        "source": "--port",
    }


@pytest.mark.parametrize(
    ("state", "status"), [("ready", 200), ("loading", 503), ("stopping", 503), ("lost", 503)]
)
@pytest.mark.parametrize("path", ["/health", "/readyz"])
def test_health_is_200_only_when_ready(ask, path, state, status):
    fault = "the device is gone" if state == "lost" else None
    response = ask(path, Described(state=EngineStats(state=state, fault=fault)))
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
    big, small = listed["data"]
    flags = {"chat": True, "tools": False, "thinking": True, "vision": True, "embeddings": True}
    assert big["capabilities"] == flags
    assert (big["context_window"], big["family"], big["weight_bytes"]) == (4096, "qwen35", 10)
    assert (big["reasoning"], big["vision"], big["tools"]) == (True, True, False)
    assert (big["aliases"], small["aliases"]) == ([], ["fast"])
    assert big["defaults"]["temperature"] is None


def test_no_path_of_this_machine_is_told(ask):
    said = ask("/v1/models").body + ask("/v1").body
    assert b"models/" not in said.replace(b"/v1/models/", b"")


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
    assert card["protocols"]["openai-chat"]["fields"]["n"] == "honoured"


def test_what_a_model_cannot_do_is_not_honoured_for_it(ask):
    models = json.loads(ask("/v1").body)["models"]
    assert models["owner/big"]["unavailable"] == {"openai-chat": {"tools": "tools"}}
    assert models["small"]["unavailable"] == {
        "openai-chat": {"tools": "tools", "reasoning_effort": "thinking"}
    }
    able = Catalogue((info("able", tools=True, thinking=True),))
    assert json.loads(ask("/v1", Described(offered=able)).body)["models"]["able"]["unavailable"] == {}


def test_a_server_without_a_model_still_answers(ask):
    empty = Described(offered=Catalogue())
    assert json.loads(ask("/v1", empty).body)["model"] is None
    assert json.loads(ask("/v1/models", empty).body)["data"] == []
    assert json.loads(ask("/health", empty).body)["model"] is None


def test_plugins_are_shown_as_they_are(ask):
    shown = json.loads(ask("/v1/plugins").body)["plugins"]
    assert [(report["name"], report["state"]) for report in shown] == [("good", "on"), ("bad", "broken")]


IN_FORCE = KVInForce(
    mode="4", scheme="float32; kv4-g64: 0-5", layers={"kv4-g64": 6, "float32": 1}, full=2, sliding=5
)


def test_stats_tell_how_keys_and_values_are_kept_once_that_is_known(ask):
    assert json.loads(ask("/stats").body)["kv_quant"] is None
    told = json.loads(ask("/stats", Described(state=EngineStats(kv={"owner/big": IN_FORCE}))).body)
    assert told["kv_quant"] == {
        "mode": "4",
        "scheme": "float32; kv4-g64: 0-5",
        "layers": {"kv4-g64": 6, "float32": 1},
        "attention": {"global": 2, "sliding_window": 5},
    }


def test_stats_hold_what_the_engine_and_the_settings_say(ask):
    state = EngineStats(
        state="ready",
        waiting=3,
        prefilling=1,
        running=2,
        cache_bytes=7,
        budget_bytes=50,
        reserved_bytes=30,
        active_bytes=28,
        peak_bytes=29,
        finished=5,
        prompt_tokens=11,
        pace_s=1.0,
        ttft_s=0.5,
        tokens_per_s=20.0,
        decode_s=2.0,
    )
    told = json.loads(ask("/stats", Described(state=state)).body)
    assert told["server"] == {
        "owner": "serve",
        "version": "1.2.3",
        "model": "owner/big",
        "state": "ready",
        "fault": None,
        "started_at": 1760000000500,
        "restarts": 0,
    }
    assert told["batch"] == {"configured": 4, "batched": True, "active_rows": 3}
    assert told["queue"] == {"limit": 16, "waiting": 3, "prefilling": 1, "running": 2}
    assert told["admission"] == {
        "max_safe_context": None,
        "memory_budget_bytes": None,
        "usable_bytes": 50,
        "weights_bytes": 20,
        "reserved_bytes": 30,
        "cache_bytes": 7,
        "active_bytes": 28,
        "peak_bytes": 29,
    }
    assert (told["totals"]["finished"], told["totals"]["prompt_tokens"]) == (5, 11)
    assert (told["timings"]["ttft_s"], told["timings"]["tokens_per_s"]) == (0.5, 20.0)
    assert (told["timings"]["row_s"], told["timings"]["decode_s"]) == (1.0, 2.0)


GIB = 2**30
PLAN = MemoryPlan(
    {"owner/big": lambda _: Account(Footprint(weights=2 * GIB, slots=(Slots(100_000, None),)), 4096)},
    Machine(backend="metal", chip="M3", ram_bytes=16 * GIB, usable_bytes=12 * GIB, bandwidth_gbs=100.0),
    EngineSettings(),
)


def test_fit_says_how_a_model_fits_this_machine_and_others(ask):
    told = json.loads(ask("/fit", Described(plan=PLAN)).body)
    assert told["machine"]["chip"] == "M3"
    assert (told["context_tokens"], told["typical_context_tokens"]) == (4096, 4096)
    report = told["report"]
    assert (report["fits"], report["weights_bytes"], report["usable_bytes"]) == (True, 2 * GIB, 12 * GIB)
    assert report["total_bytes"] == sum(
        report[part] for part in ("weights_bytes", "kv_bytes", "transient_bytes")
    )
    assert told["typical_decode_tps"] == pytest.approx(100e9 / (2 * GIB + 4096 * 100_000) * 0.82)
    assert len(told["sku_matrix"]) == 41
    assert told["sku_matrix"][0].keys() == {"sku", "ram_gb", "fits", "max_context", "decode_tps"}
    assert told["measured_decode_tps"] is None


def test_fit_can_be_asked_for_rows_and_a_context(ask):
    asked = {"batch": "3", "context": "1000", "skus": "false"}
    told = json.loads(ask("/fit", Described(plan=PLAN), query=asked).body)
    assert (told["report"]["rows"], told["report"]["context_tokens"]) == (3, 1000)
    assert told["report"]["kv_bytes"] == 3 * 1024 * 100_000
    assert told["sku_matrix"] == []


@pytest.mark.parametrize(
    "query", [{"batch": "0"}, {"context": "-1"}, {"context": "many"}, {"batch": "9" * 40}, {"skus": "maybe"}]
)
def test_what_fit_cannot_read_is_refused_by_name(ask, query):
    (name,) = query
    with pytest.raises(BadRequest, match=name):
        ask("/fit", Described(plan=PLAN), query=query)


def test_a_server_that_does_not_count_says_so(ask):
    with pytest.raises(Unavailable, match="memory budget"):
        ask("/fit")


def test_stats_say_how_long_a_context_fits(ask):
    told = json.loads(ask("/stats", Described(plan=PLAN)).body)["admission"]
    assert (told["max_safe_context"], told["weights_bytes"]) == (4096, 2 * GIB)


REQUEST = "/v1/requests/{request_id:str}"


def test_a_running_request_is_shown_by_its_id(ask):
    told = json.loads(ask(REQUEST, request_id="chatcmpl-1").body)
    assert told["choices"] == [{"choice": 0, "state": "prefilling", "prompt": 9, "read": 3}]
    assert (told["protocol"], told["model"], told["age_s"]) == ("openai-chat", "small", 1.5)
    with pytest.raises(NotFound, match="chatcmpl-2"):
        ask(REQUEST, request_id="chatcmpl-2")


@pytest.mark.parametrize(("method", "path"), [("DELETE", REQUEST), ("POST", f"{REQUEST}/cancel")])
def test_a_running_request_is_cancelled_by_its_id(ask, method, path):
    told = json.loads(ask(path, method=method, request_id="chatcmpl-1").body)
    assert told == {"id": "chatcmpl-1", "cancelled": True}
    with pytest.raises(NotFound, match="chatcmpl-2"):
        ask(path, method=method, request_id="chatcmpl-2")


def test_health_is_open_and_cancelling_is_not_for_everybody():
    access = {(query.method, query.path): query.access for query in plugin.mlxp_protocols()[0].endpoints}
    assert {path for (_, path), kind in access.items() if kind == "open"} == {"/health", "/readyz", "/livez"}
    admin = {(method, path) for (method, path), kind in access.items() if kind == "admin"}
    assert {method for method, _ in admin} == {"DELETE", "POST", "GET"}
    assert {path for method, path in admin if method == "GET"} == {"/v1/settings"}


def test_answers_have_the_type_they_announce(ask):
    params = {"model_id": "small", "request_id": "chatcmpl-1"}
    for query in [each for each in plugin.mlxp_protocols()[0].endpoints if isinstance(each, Query)]:
        response = ask(query.path, Described(plan=PLAN), method=query.method, **params)
        assert msgspec.json.decode(response.body, type=query.returns)
        assert response.media_type == "application/json"


def test_a_model_card_says_whether_it_is_loaded(ask):
    states = {"owner/big": ModelState(state="loaded", pinned=True)}
    told = json.loads(ask("/v1/models", Described(state=EngineStats(state="ready", models=states))).body)[
        "data"
    ]
    assert [(card["state"], card["pinned"]) for card in told] == [("loaded", True), ("on disk", False)]
    stats = json.loads(ask("/stats", Described(state=EngineStats(state="ready", models=states))).body)
    assert stats["models"]["owner/big"]["state"] == "loaded"
