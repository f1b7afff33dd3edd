"""Inspecting over HTTP."""

import pytest

from mlxp_core.testing.client import serve
from mlxp_lab.plugin import LabPlugin


@pytest.fixture
def client(home, monkeypatch):
    monkeypatch.setenv("MLXP_PLUGINS", "lab,minicpm5")
    flags = {"lab": {"folder": str(home)}, "plugins": {"only": ("lab", "minicpm5")}}
    with serve([], plugins=[("lab", LabPlugin())], flags=flags) as served:
        yield served.client


def test_a_model_is_inspected(client, tiny_checkpoints, home):
    answer = client.post("/api/quantize/inspect", json={"model": str(tiny_checkpoints / "minicpm5")})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["family"], found["packed"]) == ("minicpm5", False)
    assert {"4bit-g64", "mxfp4"} <= {offer["label"] for offer in found["offers"]}
    assert not home.exists()


@pytest.mark.parametrize(
    "body", [{"model": "no/such"}, {"model": "--help"}, {"model": ""}, {"model": 3}, {}, []]
)
def test_what_cannot_be_inspected_is_a_bad_request(client, body):
    answer = client.post("/api/quantize/inspect", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]
