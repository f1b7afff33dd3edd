"""Putting what was made on the hub, in a real browser, with a stand-in for the hub."""

import importlib.util
import json
from pathlib import Path

import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.live import serve_folders

STAND_IN = Path(__file__).parents[3] / "hub" / "tests" / "push" / "conftest.py"


@pytest.fixture
def receiver():
    """A hub without anything."""
    spec = importlib.util.spec_from_file_location("hub_receiver", STAND_IN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hub = module.Receiver()
    yield hub
    hub.close()


@pytest.fixture
def pushing(receiver, tmp_path, monkeypatch):
    """A server with a lab, whose user that hub does not know yet."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    environment = {"HF_TOKEN_PATH": str(tmp_path / "token"), "MLXP_HUB_ENDPOINT": receiver.url}
    for name, value in environment.items():  # for the process of the job
        monkeypatch.setenv(name, value)
    flags = {
        "engine": {"dtype": "float32"},
        "lab": {"folder": str(tmp_path / "lab")},
        "hub": {"cache": str(tmp_path / "hub"), "endpoint": receiver.url},
    }
    with serve_folders(write_sketch(tmp_path / "sketch"), flags=flags) as served:
        text = "".join(json.dumps({"text": str(number)}) + "\n" for number in range(9))
        body = {"name": "words", "format": "jsonl", "text": text}
        served.client.post("/api/datasets", json=body).raise_for_status()
        yield served


def test_a_dataset_goes_to_the_hub_once_a_token_is_known(receiver, pushing, visit, violations):
    page = visit(f"{pushing.url}/#/lab/datasets/set/words", expected=("400",))
    page.set_default_timeout(90_000)
    page.get_by_role("link", name="Put it on the hub").click()
    form = page.get_by_role("form", name="Token")
    form.get_by_label("Token").fill("wrong")
    form.get_by_role("button", name="Keep it").click()
    form.locator(".hint.error").wait_for()
    assert violations(page) == []
    form.get_by_label("Token").fill(receiver.token)
    form.get_by_role("button", name="Keep it").click()
    form = page.get_by_role("form", name="Push")
    form.get_by_label("repo").fill("words")
    form.get_by_role("button", name="Push").click()
    form.locator(".hint.error").wait_for()
    assert receiver.token not in page.url
    assert violations(page) == []
    form.get_by_label("repo").fill("me/words")
    form.get_by_role("button", name="Push").click()
    look = page.get_by_role("link", name="Look at it on the hub")
    look.wait_for()
    assert look.get_attribute("href") == f"{receiver.url}/datasets/me/words"
    assert "train.jsonl" in receiver.files("me/words", "datasets")
    assert receiver.repos["datasets", "me/words"]["private"]
    page.reload()
    look.wait_for()
