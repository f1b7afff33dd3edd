"""The server page in a real browser: what is shown there is what the server does."""

import re
import threading
from pathlib import Path

import pytest

from mlxp_core.loading.sketch import END, TURN_END, write_sketch
from mlxp_core.testing.live import serve_folders

PHONE = {"width": 390, "height": 780}
HELLO = {"messages": [{"role": "user", "content": "hello " * 60}], "temperature": 1}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = write_sketch(tmp_path_factory.mktemp("models") / "sketch")
    flags = {
        "engine": {"dtype": "float32", "memory_budget": "2GB", "batch": 2},
        "server": {"records": str(tmp_path_factory.mktemp("records")), "port": 0},
        "hub": {"cache": str(tmp_path_factory.mktemp("hub")), "token": "s3cr3t-t0ken"},
    }
    with serve_folders(folder, flags=flags) as running:
        yield running


@pytest.fixture
def ask(served):
    """Ask for an answer; return the body of it."""

    def chat(**more):
        answer = served.client.post("/v1/chat/completions", json={**HELLO, "max_tokens": 8, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    return chat


@pytest.fixture
def server(visit, served):
    def begin(place="", **options):
        page = visit(f"{served.url}/#/server{place}", **options)
        page.get_by_role("table", name="Settings in force").wait_for()
        page.get_by_text("ready", exact=True).wait_for()
        return page

    return begin


@pytest.fixture
def endless(served):
    """Answers that go on until they are stopped: what would end them is never drawn, and most wait for a row."""
    body = {**HELLO, "stream": True, "n": 8, "max_tokens": 3800, "logit_bias": {END: -100, TURN_END: -100}}
    started, heard = threading.Event(), []

    def listen():
        with served.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            for chunk in answer.iter_text():
                heard.append(chunk)
                started.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert started.wait(30)
    yield heard
    for request in served.desk.requests():
        served.call(lambda name=request.id: served.desk.cancel(name))
    thread.join(30)


def region(page, name):
    return page.get_by_role("region", name=name, exact=True)


def test_charts_show_what_is_written_now(server, endless):
    page = server()
    page.get_by_role("img", name="Tokens per second: written").wait_for()
    page.wait_for_function(
        "() => /written [1-9]/.test(document.querySelector('[aria-label^=\"Tokens per second\"]').ariaLabel)"
    )
    page.wait_for_function(
        "() => /answering [12]/.test(document.querySelector('[aria-label^=\"Rows of 2\"]').ariaLabel)"
    )
    memory = region(page, "Live").get_by_role("figure")
    for part in ("weights", "rows", "prompt cache", "other", "free"):
        assert memory.get_by_text(part, exact=False).count() >= 1, part


def test_a_running_request_is_listed_and_can_be_stopped(server, endless, served):
    page = server()
    running = page.get_by_role("table", name="Running requests")
    running.get_by_text("generating").wait_for()
    (request,) = served.desk.requests()
    running.get_by_role("button", name=f"Stop {request.id}").click()
    running.wait_for(state="detached")
    assert served.desk.requests() == ()


def test_a_request_that_ended_has_its_details_under_an_address(server, ask):
    answer = ask(seed=77)
    page = server()
    page.get_by_role("button", name=f"Details of {answer['id']}").click()
    dialog = page.get_by_role("dialog", name=answer["id"])
    usage = answer["usage"]
    for fact in (
        "openai-chat",
        "77",
        f"{usage['completion_tokens']} tokens",
        f"{usage['prompt_tokens']} tokens",
    ):
        assert dialog.get_by_text(fact).count() >= 1, fact
    assert page.url.endswith(f"/server/{answer['id']}")
    pattern = re.search(r"mlxp replay (\S+)", dialog.inner_text())[1]
    (transcript,) = Path("/").glob(pattern.removeprefix("/"))
    assert answer["id"] in transcript.read_text(encoding="utf-8")
    page.reload()
    dialog.wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert page.url.endswith("/server")


def test_the_prompt_cache_says_why_not_more(server, ask):
    for word in ("first", "first", "second"):
        ask(messages=[{"role": "user", "content": word * 40}])
    page = server()
    cache = region(page, "Prompt cache")
    told = page.evaluate("() => fetch('/stats').then((answer) => answer.json())")["prompt_cache"]
    cache.get_by_text(f"{told['hits']} of {told['hits'] + told['misses']} prompts").wait_for()
    assert cache.get_by_text("the prompt is another from there on").count() == 1


def test_plugins_are_listed_with_their_state(server):
    page = server()
    row = page.get_by_role("table", name="Plugins found").get_by_role("row").filter(has_text="mlxp-webui")
    assert row.get_by_text("on", exact=True).count() == 1


def test_settings_have_their_source_and_keep_their_secrets(server):
    page = server()
    settings = page.get_by_role("table", name="Settings in force")
    batch = settings.get_by_role("row").filter(has_text="engine.batch")
    assert batch.get_by_role("cell").all_inner_texts() == ["2", "flag --batch"]
    token = settings.get_by_role("row").filter(has_text="hub.token")
    assert "(not shown)" in token.inner_text()
    assert "s3cr3t-t0ken" not in page.content()


def test_settings_can_be_found(server):
    page = server()
    settings = page.get_by_role("table", name="Settings in force")
    page.get_by_label("Find").fill("prompt_cache")
    names = settings.get_by_role("rowheader").all_inner_texts()
    assert names
    assert all("prompt_cache" in name for name in names)
    page.get_by_label("Find").fill("")
    page.get_by_label("Only what was set").check()
    sources = settings.get_by_role("row").all_inner_texts()[1:]
    assert sources
    assert not any("default" in source for source in sources)


def test_the_fit_on_other_computers_is_the_servers(server, served):
    page = server()
    table = page.get_by_role("table", name="Fit on Apple's computers")
    table.wait_for()
    rows = served.client.get("/fit").json()["sku_matrix"]
    assert table.get_by_role("row").count() == len(rows) + 1
    assert [row["sku"] for row in rows] == table.get_by_role("rowheader").all_inner_texts()


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, PHONE], ids=["light", "dark", "phone"])
def test_nobody_is_left_out(server, ask, violations, options):
    ask()
    page = server(**options)
    page.locator(".u-over").first.wait_for(state="attached")
    assert violations(page) == []
    width = page.evaluate("() => document.querySelector('.page').scrollWidth")
    assert width <= page.viewport_size["width"]
