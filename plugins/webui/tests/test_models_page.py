"""The models page in a real browser: models of this server, models on disk, and a stand-in for the hub."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.live import serve_folders

STAND_IN = Path(__file__).parents[2] / "hub" / "tests" / "conftest.py"
CUT = 5000
PHONE = {"width": 390, "height": 780}


@pytest.fixture(scope="module")
def hub_kit():
    spec = importlib.util.spec_from_file_location("hub_stand_in", STAND_IN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sketch(tmp_path_factory):
    return write_sketch(tmp_path_factory.mktemp("models") / "sketch")


@pytest.fixture(scope="module")
def hub(hub_kit, sketch):
    """A hub with one model, which cuts the first transfer of its weights short, and then has a bad time."""
    hub = hub_kit.StandIn()
    files = {file.name: file.read_bytes() for file in sketch.iterdir()}
    hub.add("somebody/new-model", files)
    hub.goes_wrong(
        "model.safetensors", hub_kit.Trouble(cut=CUT), *(hub_kit.Trouble(status=503) for _ in range(9))
    )
    yield hub
    hub.close()


@pytest.fixture(scope="module")
def served(sketch, hub, tmp_path_factory):
    """A server with two models and one more on disk."""
    other = shutil.copytree(sketch, sketch.parent / "other")
    cache = tmp_path_factory.mktemp("hub")
    home = cache / "models--somebody--old-model"
    shutil.copytree(sketch, home / "snapshots" / ("a" * 40))
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("a" * 40)
    flags = {
        "engine": {"dtype": "float32", "memory_budget": "2GB"},
        "hub": {"cache": str(cache), "endpoint": hub.url, "token": "s3cr3t"},
        "models": {"alias": ["quick=other"]},
    }
    with serve_folders(sketch, other, flags=flags) as running:
        yield running


def card(page, name):
    return page.get_by_role("article", name=name, exact=True)


@pytest.fixture
def models(visit, served):
    def begin(**options):
        page = visit(f"{served.url}/#/models", **options)
        card(page, "sketch").get_by_role("figure").wait_for()
        page.get_by_text("somebody/old-model").wait_for()
        return page

    return begin


def received(page):
    """Return how many bytes the newest download has, when the page asks the next time."""
    with page.expect_response(
        lambda got: got.url.endswith("/downloads") and got.request.method == "GET"
    ) as told:
        pass
    return told.value.json()["downloads"][0]["receivedBytes"]


def test_each_model_says_what_it_is_and_how_it_fits(models):
    page = models()
    other = card(page, "other")
    for fact in ("loaded", "thinks", "calls tools", "minicpm5", "4,096 tokens", "quick"):
        assert other.get_by_text(fact, exact=True).count() == 1, fact
    assert other.get_by_role("figure").get_by_text("Fits; up to 4,096 tokens").count() == 1
    assert card(page, "sketch").get_by_text("default").count() == 1


def test_a_longer_context_takes_more(models):
    page = models()
    kept = card(page, "sketch").get_by_role("figure").get_by_role("listitem").nth(1)
    long = kept.inner_text()
    page.get_by_label("Fit with a context of").select_option("2048")
    page.wait_for_function(
        "([text]) => ![...document.querySelectorAll('li')].some((li) => li.innerText === text)", arg=[long]
    )
    assert kept.inner_text() != long


def test_models_are_unloaded_loaded_and_pinned(models, served):
    page = models()
    other = card(page, "other")
    other.get_by_role("button", name="Unload").click()
    other.get_by_text("on disk").wait_for()
    assert served.desk.stats().models["other"].state == "on disk"
    other.get_by_role("button", name="Load").click()
    other.get_by_text("loaded", exact=True).wait_for()
    other.get_by_role("button", name="Pin").click()
    other.get_by_text("pinned").wait_for()
    assert served.desk.stats().models["other"].pinned
    assert other.get_by_role("button", name="Unload").is_disabled()
    other.get_by_role("button", name="Unpin").click()
    other.get_by_text("pinned").wait_for(state="detached")


def test_a_chat_begins_with_the_model(models):
    page = models()
    card(page, "other").get_by_role("button", name="Chat").click()
    with page.expect_request("**/v1/chat/completions") as sent:
        page.get_by_label("Message", exact=True).fill("hello")
        page.keyboard.press("Enter")
    assert sent.value.post_data_json["model"] == "other"


def test_a_download_that_broke_off_goes_on_and_is_in_the_library(models, hub):
    page = models(expected=("404",))
    page.get_by_label("Model of the Hugging Face hub").fill("somebody/new-model")
    page.keyboard.press("Enter")
    coming = (
        page.get_by_role("region", name="Download")
        .get_by_role("listitem")
        .filter(has_text="somebody/new-model")
    )
    whole = hub.repos["somebody/new-model"]
    begun = sum(len(content) for content in whole.values()) - len(whole["model.safetensors"]) + CUT
    while received(page) < begun:
        pass
    coming.get_by_role("button", name="Stop").click()
    coming.get_by_role("button", name="Go on").wait_for()
    asked = len(hub.fetched("model.safetensors"))
    hub.troubles.clear()
    coming.get_by_role("button", name="Go on").click()
    coming.get_by_text("complete").wait_for()
    page.get_by_role("region", name="On disk").get_by_text("somebody/new-model").wait_for()
    assert "range" in hub.fetched("model.safetensors")[asked], "it began from the start"


def test_a_model_that_nobody_has_is_an_error_in_words(models):
    page = models()
    page.get_by_label("Model of the Hugging Face hub").fill("somebody/nothing")
    page.get_by_role("button", name="Download").click()
    page.get_by_text("has no model somebody/nothing").wait_for()


def test_a_name_that_is_none_is_told_beside_the_field(models):
    page = models(expected=("400",))
    page.get_by_label("Model of the Hugging Face hub").fill("nothing")
    page.get_by_role("button", name="Download").click()
    page.get_by_text("owner/name").wait_for()


def test_what_plugins_add_is_told_with_the_plugin(models):
    page = models()
    added = page.get_by_role("region", name="What plugins add")
    added.get_by_text("minicpm5").first.wait_for()
    assert added.get_by_text("from curves").count() == 2


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, PHONE], ids=["light", "dark", "phone"])
def test_nobody_is_left_out(models, violations, options):
    page = models(**options)
    assert violations(page) == []
    width = page.evaluate("() => document.querySelector('.page').scrollWidth")
    assert width <= page.viewport_size["width"]
