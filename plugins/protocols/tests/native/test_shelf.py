"""Models loaded, unloaded and pinned over HTTP, with the kit's engine behind it."""

import pytest
from msgspec.structs import replace

from mlxp_core.testing.client import SKETCH, serve
from mlxp_protocols.native.plugin import mlxp_protocols

MODELS = (SKETCH, replace(SKETCH, id="owner/other"))


@pytest.fixture
def served():
    with serve(mlxp_protocols(), models=MODELS) as running:
        yield running.client


def test_a_model_whose_id_holds_a_slash_is_unloaded_and_shown_so(served):
    done = served.post("/v1/models/owner/other/unload")
    assert done.status_code == 200, done.text
    assert done.json() == {
        "id": "owner/other",
        "object": "model",
        "state": "on disk",
        "pinned": False,
        "loads": 1,
    }
    assert served.get("/v1/models/owner/other").json()["state"] == "on disk"


def test_what_is_pinned_stays(served):
    assert served.post("/v1/models/sketch/pin").json()["pinned"] is True
    refused = served.post("/v1/models/sketch/unload")
    assert refused.status_code == 409
    assert "unpin" in refused.json()["error"]["message"]
    assert served.post("/v1/models/sketch/unpin").json()["pinned"] is False
    assert served.post("/v1/models/sketch/unload").status_code == 200


@pytest.mark.parametrize("path", ["/v1/models/sketch", "/v1/models/sketch/fly", "/v1/models/load"])
def test_what_cannot_be_done_is_not_found(served, path):
    answer = served.post(path)
    assert answer.status_code == 404
    assert "/load, /unload, /pin, /unpin" in answer.json()["error"]["message"]


def test_a_model_that_is_not_there_is_named(served):
    answer = served.post("/v1/models/nobody/load")
    assert answer.status_code == 404
    assert "sketch, owner/other" in answer.json()["error"]["message"]


def test_it_is_for_admins():
    flags = {"server": {"api_keys": ["k"]}}
    with serve(mlxp_protocols(), models=MODELS, flags=flags) as running:
        assert running.client.post("/v1/models/sketch/unload").status_code == 401
        key = {"authorization": "Bearer k"}
        assert running.client.post("/v1/models/sketch/unload", headers=key).status_code == 200
