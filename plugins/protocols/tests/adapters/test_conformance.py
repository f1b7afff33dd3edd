"""Adapters over HTTP, against the shared kit and with the kit's engine behind them."""

import json
import struct
from pathlib import Path

import pytest

from mlxp_core.testing.client import serve
from mlxp_core.testing.exchange import ExchangeSuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.types import (
    AdapterInfo,
    AdaptersFound,
    FindAdapters,
    Mounted,
    MountRequest,
    StoredAdapter,
    Unmounted,
    UnmountRequest,
    WireRequest,
)
from mlxp_protocols.adapters import plugin as module
from mlxp_protocols.adapters.exchange import AdapterDecoder
from mlxp_protocols.native import plugin as native
from mlxp_protocols.openai_chat import plugin as chat

PROTOCOL = module.make_protocol(AdapterDecoder(lambda: "adapter-1"))
PLAIN = AdapterInfo(
    id="fr", path=Path("/a/fr"), model="m", key="fr@1", rank=8, scale=2.0, modules=28, size_bytes=9
)
ODD = AdapterInfo(id="x", path=Path("/a/x"), model="m", key="x@1", unused=("q",), warnings=("another base",))


class TestMount(ExchangeSuite):
    path = "/v1/adapters"
    asks = MountRequest
    required = frozenset({"id", "path"})

    @pytest.fixture
    def protocol(self):
        return PROTOCOL

    def body(self):
        return {"id": "fr", "path": "/a/fr"}

    def answers(self):
        return [Mounted(adapter=PLAIN), Mounted(adapter=ODD)]

    def read_back(self, said):
        return json.loads(said)

    def told(self, answer):
        adapter = answer.adapter
        return {
            "id": adapter.id,
            "model": adapter.model,
            "mounted_layers": adapter.modules,
            "rank": adapter.rank,
            "scale": adapter.scale,
            "unused": list(adapter.unused),
            "warnings": list(adapter.warnings),
        }


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module


def exchange(method, path):
    return next(each for each in PROTOCOL.endpoints if (each.method, each.path) == (method, path))


def test_unmounting_names_the_adapter_in_the_path():
    read = exchange("DELETE", "/v1/adapters/{adapter_id:str}").decode
    exchanged = read(WireRequest(method="DELETE", params={"adapter_id": "fr"}))
    assert exchanged.question == UnmountRequest(id="adapter-1", model="", adapter="fr")
    said = json.loads(exchanged.render(Unmounted(adapter=PLAIN)).body)
    assert said == {"id": "fr", "removed_layers": 28}


def test_adapters_on_disk_are_those_for_the_model_that_is_asked_about():
    read = exchange("GET", "/v1/adapters/available").decode
    assert read(WireRequest(method="GET")).question == FindAdapters(id="adapter-1", model="")
    exchanged = read(WireRequest(method="GET", query={"model": "m"}))
    assert exchanged.question.model == "m"
    found = StoredAdapter(id="fr", path=Path("/a/fr"), rank=8, scale=2.0, base_model="o/m", mounted=True)
    said = json.loads(exchanged.render(AdaptersFound(adapters=(found,))).body)
    assert said["adapters"] == [
        {"id": "fr", "path": "/a/fr", "rank": 8, "scale": 2.0, "base_model": "o/m", "mounted": True}
    ]


def test_all_but_the_list_is_for_admins():
    assert {(each.method, each.path): each.access for each in PROTOCOL.endpoints} == {
        ("GET", "/v1/adapters"): "key",
        ("POST", "/v1/adapters"): "admin",
        ("GET", "/v1/adapters/available"): "admin",
        ("DELETE", "/v1/adapters/{adapter_id:str}"): "admin",
    }


# ── Over HTTP ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path):
    """Write an adapter of one module."""
    folder = tmp_path / "root" / "fr"
    folder.mkdir(parents=True)
    header = {
        "up.lora_a": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]},
        "up.lora_b": {"dtype": "F32", "shape": [2, 4], "data_offsets": [32, 64]},
    }
    text = json.dumps(header).encode()
    (folder / "adapters.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 64)
    (folder / "adapter_config.json").write_text('{"lora_parameters": {"scale": 4, "rank": 2}}')
    return folder


@pytest.fixture
def served(folder):
    protocols = [PROTOCOL, *chat.mlxp_protocols(), *native.mlxp_protocols()]
    with serve(protocols, [40, 41], flags={"adapters": {"roots": (str(folder.parent),)}}) as running:
        yield running


def fault(response):
    return response.status_code, response.json()["error"]["code"], response.json()["error"]["param"]


def test_an_adapter_comes_is_named_and_goes(served, folder):
    client = served.client
    assert client.get("/v1/adapters").json() == {"adapters": []}
    (found,) = client.get("/v1/adapters/available").json()["adapters"]
    assert (found["id"], found["path"], found["mounted"]) == ("fr", str(folder), False)
    said = client.post("/v1/adapters", json={"id": "le@fr", "path": found["path"]}).json()
    assert (said["id"], said["mounted_layers"], said["rank"], said["scale"]) == ("le@fr", 1, 2, 4.0)
    (listed,) = client.get("/v1/adapters").json()["adapters"]
    assert (listed["id"], listed["path"], listed["mounted_layers"]) == ("le@fr", str(folder), 1)
    assert client.get("/v1/adapters/available").json()["adapters"][0]["mounted"]
    assert client.get("/v1/models").json()["data"][0]["adapters"] == ["le@fr"]
    asked = {"messages": [{"role": "user", "content": "hi"}], "adapter": "le@fr"}
    assert client.post("/v1/chat/completions", json=asked).status_code == 200
    assert served.engine.orders[-1].adapters == tuple(served.engine.mounted)
    assert client.delete("/v1/adapters/le%40fr").json() == {"id": "le@fr", "removed_layers": 1}
    assert fault(client.delete("/v1/adapters/le%40fr")) == (404, "adapter_not_found", "id")
    refused = client.post("/v1/chat/completions", json=asked)
    assert fault(refused) == (400, "invalid_request", "adapter")
    assert "unknown adapter 'le@fr'; mounted: none" in refused.text


def test_what_cannot_be_mounted_is_refused_by_name(served, folder):
    def mount(**body):
        return fault(served.client.post("/v1/adapters", json=body))

    assert mount(id="fr", path=str(folder.parent.parent)) == (400, "invalid_request", "path")
    assert mount(id="none", path="fr") == (400, "invalid_request", "id")
    assert mount(id="fr") == (400, "invalid_request", "path")
    (folder / "adapter_config.json").rename(folder / "aside.json")
    assert mount(id="fr", path="fr") == (400, "bad_adapter", None)
    (folder / "aside.json").rename(folder / "adapter_config.json")
    other = folder.parent / "other"
    folder.rename(other)
    assert served.client.post("/v1/adapters", json={"id": "fr", "path": "other"}).status_code == 200
    other.rename(folder)
    assert mount(id="fr", path="fr") == (409, "conflict", "id")
