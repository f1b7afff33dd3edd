"""Looking at a dataset over HTTP."""

import importlib
import json

import pytest

from mlxp_core.testing.client import serve
from mlxp_lab.plugin import LabPlugin

ROWS = [{"prompt": f"What is {n}?", "completion": f"It is {n}."} for n in range(12)]


@pytest.fixture
def client(home):
    flags = {"lab": {"folder": str(home)}}
    family = importlib.import_module("mlxp_minicpm5.plugin")
    with serve([], plugins=[("lab", LabPlugin()), ("minicpm5", family)], flags=flags) as served:
        yield served.client


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS) + '{"prompt": 3}\n')
    return path


def test_a_dataset_is_seen_through_a_models_eyes(client, data, tiny_checkpoints, home):
    body = {"model": str(tiny_checkpoints / "minicpm5"), "data": str(data)}
    answer = client.post("/api/train/inspect", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["form"], told["rows"], told["good"]) == ("completion", 12, False)
    assert [(fault["split"], fault["line"]) for fault in told["faults"]] == [("train", 13)]
    assert 0 < told["learned"] < told["tokens"]["total"]
    assert {piece["learned"] for piece in told["sample"]} == {True, False}
    assert not home.exists()


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"model": "no/such"}, "model"),
        ({"model": "a\0b"}, "model"),
        ({"data": "no/such"}, "data"),
        ({"data": "a\0b"}, "data"),
        ({"method": "magic"}, None),
        ({"model": 3}, None),
    ],
)
def test_what_is_wrong_is_a_bad_request(client, data, tiny_checkpoints, changes, param):
    body = {"model": str(tiny_checkpoints / "minicpm5"), "data": str(data), **changes}
    answer = client.post("/api/train/inspect", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"].get("param") == param
