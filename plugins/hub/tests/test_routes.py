"""Over HTTP: a server with the kit's engine, and the stand-in for the hub."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from mlxp_core.testing.client import PATIENCE_S, serve
from mlxp_core.types import Appraisal, Catalogue
from mlxp_hub.plugin import HubPlugin
from mlxp_hub.routes import FRESH_S, Shelves


@pytest.fixture
def served(settings):
    """Serve with the plugin; ``plugin`` is its object, whose downloads can be waited for."""

    @contextmanager
    def begin(**server):
        plugin = HubPlugin()
        hub = {"cache": settings.cache, "endpoint": settings.endpoint, "token": "secret"}
        with serve([], plugins=[("hub", plugin)], flags={"hub": hub, "server": server}) as running:
            yield running.client, plugin

    return begin


def settled(plugin):
    assert plugin.downloads.join(PATIENCE_S)


def test_a_model_is_fetched_in_the_background_and_appears_in_the_library(hub, sketch, served):
    hub.add("o/n", sketch)
    with served() as (client, plugin):
        assert client.get("/library").json() == {"models": []}
        assert client.get("/downloads").json() == {"downloads": []}
        begun = client.post("/downloads", json={"repoId": "o/n"})
        assert begun.status_code == 202
        assert begun.json()["repoId"] == "o/n"
        settled(plugin)
        (card,) = client.get("/downloads").json()["downloads"]
        assert (card["state"], card["filesDone"]) == ("done", card["filesTotal"])
        assert card["receivedBytes"] == card["totalBytes"] > 0
        assert "error" not in card
        (model,) = client.get("/library").json()["models"]
        assert (model["repo_id"], model["model_type"], model["serving"]) == ("o/n", "llama", False)
        assert model["size_bytes"] == card["totalBytes"]
        assert model["supported"] is False
        assert "llama" in model["fault"]
        assert (model["family"], model["context"] > 0, model["group_size"]) == (None, True, None)


def test_what_cannot_be_fetched_says_so(hub, served):
    with served() as (client, plugin):
        assert client.post("/downloads", json={"repoId": "o/n"}).status_code == 202
        settled(plugin)
        (card,) = client.get("/downloads").json()["downloads"]
        assert card["state"] == "error"
        assert "has no model o/n" in card["error"]


@pytest.mark.parametrize(
    "body", ["", "{}", '{"repoId": "name"}', '{"repoId": "a/b", "x": 1}', '{"repoId": 1}']
)
def test_a_body_that_names_no_model_is_refused(served, body):
    with served() as (client, _):
        answer = client.post("/downloads", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400, answer.text
        assert "owner/name" in answer.text


def test_a_download_can_be_stopped(hub, sketch, served, trouble):
    hub.add("o/n", sketch)
    hub.goes_wrong("model.safetensors", *(trouble(status=503) for _ in range(4)))
    with served() as (client, plugin):
        client.post("/downloads", json={"repoId": "o/n"})
        stopped = client.delete("/downloads/o/n")
        assert stopped.status_code == 200
        settled(plugin)
        (card,) = client.get("/downloads").json()["downloads"]
        assert card["state"] == "error"
        assert client.delete("/downloads/o/n").status_code == 404


def test_a_server_that_stops_breaks_downloads_off(hub, sketch, served, trouble):
    hub.add("o/n", sketch)
    hub.goes_wrong("model.safetensors", *(trouble(status=503) for _ in range(4)))
    with served() as (client, plugin):
        client.post("/downloads", json={"repoId": "o/n"})
    settled(plugin)


def test_starting_and_stopping_is_for_admins(served):
    with served(api_keys=["k"], port=0) as (client, _):
        assert client.get("/library").status_code == 401
        assert client.post("/downloads", json={"repoId": "o/n"}).status_code == 401
        assert client.delete("/downloads/o/n").status_code == 401
        assert client.get("/downloads", headers={"authorization": "Bearer k"}).status_code == 200


def test_the_paths_are_in_the_document(served):
    with served() as (client, _):
        paths = client.get("/schema/openapi.json").json()["paths"]
        assert {"/library", "/downloads"} <= paths.keys()


def test_the_library_is_looked_at_now_and_then_only(put, sketch, settings):
    looked, now = [], [0.0]

    def appraise(folder, context):
        looked.append(folder if context is None else (folder, context))
        return Appraisal(name="m", family="f")

    services = SimpleNamespace(
        settings=SimpleNamespace(section=lambda _: settings), catalogue=Catalogue, appraise=appraise
    )
    shelves = Shelves(services, clock=lambda: now[0])
    first = put("o/a", sketch)
    assert [model.repo_id for model in shelves.library().models] == ["o/a"]
    second = put("o/b", sketch, commit="e" * 40)
    now[0] += FRESH_S - 1
    assert len(shelves.library().models) == 1
    now[0] += 1
    assert [model.repo_id for model in shelves.library().models] == ["o/a", "o/b"]
    assert looked == [first, second]
    shelves.forget()
    assert len(shelves.library().models) == 2
    assert looked == [first, second]
    for _ in range(2):
        shelves.library(1000)
    assert looked == [first, second, (first, 1000), (second, 1000)]


@pytest.mark.parametrize("context", ["0", "-1", "1.5", "many", "9" * 12])
def test_a_context_is_a_number_of_tokens(served, context):
    with served() as (client, _):
        answer = client.get("/library", params={"context": context})
        assert answer.status_code == 400
        assert "context" in answer.text
