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


def test_there_is_no_report_of_what_made_none(client):
    answer = client.get("/api/quantize/report/job_x")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_models_that_jobs_made_are_listed_when_they_are_whole(client, home):
    for name in ("made", ".made.job_1.part", "half"):
        (home / "models" / name).mkdir(parents=True)
    for name in ("made", ".made.job_1.part"):
        (home / "models" / name / "config.json").write_text("{}")
    (home / "models" / "made" / "model.safetensors").write_bytes(b"x" * 9)
    told = client.get("/api/lab/models").json()["models"]
    assert [(each["name"], each["size_bytes"]) for each in told if each["origin"] == "made"] == [("made", 9)]


@pytest.mark.parametrize(
    "body", [{"model": "no/such"}, {"model": "--help"}, {"model": ""}, {"model": 3}, {}, []]
)
def test_what_cannot_be_inspected_is_a_bad_request(client, body):
    answer = client.post("/api/quantize/inspect", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]
