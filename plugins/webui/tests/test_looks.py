"""How the pages look and what they weigh: dark and light, wide and narrow, for those who see and those who do not."""

import gzip
import re

import httpx
import pytest

RICH, CALL = 1, 3
FIRST_LOAD_BYTES = 200_000


def ground(page):
    channels = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", channels)[:3])) / 3


def test_it_is_as_dark_as_the_system_says_and_as_somebody_chooses(chat):
    assert ground(chat(color_scheme="light").page) > 200
    page = chat(color_scheme="dark").page
    assert ground(page) < 50
    page.get_by_label(re.compile("^Theme: system")).click()
    assert ground(page) > 200
    page.reload()
    page.locator(".welcome").wait_for()
    assert ground(page) > 200


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_scrolls_sideways_at_any_width(chat, pick, width):
    page = chat(width=width)
    page.ask(f"Show me {pick(RICH)}")
    for path in ("#/models", "#/server", "#/chat"):
        page.page.evaluate("path => { location.hash = path }", path)
        page.page.locator("main .page > :not(link)").first.wait_for()
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_on_a_phone_everything_can_be_reached(chat):
    page = chat(width=390, height=780, has_touch=True)
    page.ask("Hello!")
    page.page.get_by_role("button", name="Conversations").click()
    page.page.get_by_role("link", name="New chat").click()
    page.page.locator(".welcome").wait_for()
    page.open("Options").get_by_label("System prompt").fill("Be brief.")
    page.page.get_by_role("button", name="Close options").click()
    assert page.page.get_by_label("Message", exact=True).is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1400, "dark")])
def test_axe_finds_nothing_on_the_chat_page(chat, pick, violations, scheme, width):
    page = chat(width=width, color_scheme=scheme)
    assert violations(page.page) == []
    page.open("Options").get_by_label("Tools of your own").fill('[{"name": "calculator"}]')
    assert violations(page.page) == []
    page.page.get_by_role("button", name="Close options").click()
    page.ask(f"Show me {pick(RICH)}")
    page.page.locator("pre .hljs-keyword").first.wait_for()
    page.page.locator(".formula.display math").wait_for()
    page.ask(f"Compute {pick(CALL)}", 2)
    assert violations(page.page) == []
    page.open("Inspector").get_by_role("button", name="Events").click()
    assert violations(page.page) == []


def test_axe_finds_nothing_on_any_page_of_the_navigation(visit, scripted, violations):
    page = visit(scripted.url)
    page.locator(".welcome").wait_for()
    links = page.get_by_role("navigation", name="Pages").get_by_role("link").all()
    assert len(links) >= 3
    for link in links:
        link.click()
        page.locator("main .page > :not(link)").first.wait_for()
        page.wait_for_load_state("networkidle")
        assert violations(page) == [], link.inner_text()


def test_the_first_load_is_light(chat):
    page = chat()
    page.page.wait_for_load_state("networkidle")
    loaded = page.page.evaluate(
        "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".map(entry => [entry.name, entry.encodedBodySize])"
    )
    assert len(loaded) >= 4
    assert sum(size for _, size in loaded) < FIRST_LOAD_BYTES, loaded


def test_rich_answers_are_shown_as_such(chat, pick):
    page = chat(permissions=["clipboard-read", "clipboard-write"])
    answer = page.ask(f"Show me {pick(RICH)}")
    assert answer.locator("h4.level-1").inner_text() == "A heading"
    assert answer.locator("td").all_inner_texts() == ["1", "2"]
    assert answer.locator("li", has_text="two").is_visible()
    assert "$5" in answer.locator("p", has_text="bold").inner_text()
    answer.locator("math").nth(1).wait_for()
    answer.get_by_label("Copy code").click()
    assert page.page.evaluate("navigator.clipboard.readText()") == "def double(x):\n    return 2 * x"
    answer.locator("pre .hljs-keyword", has_text="def").wait_for()


@pytest.fixture(scope="module")
def client(scripted):
    with httpx.Client(base_url=scripted.url) as client:
        yield client


def test_files_with_hashes_stay_and_the_others_are_asked_for_again(client):
    index = client.get("/")
    assert index.headers["cache-control"] == "no-cache"
    assert client.get("/", headers={"if-none-match": index.headers["etag"]}).status_code == 304
    (script,) = re.findall(r'type="module" crossorigin src="([^"]+)"', index.text)
    packed = client.get(script)
    assert "immutable" in packed.headers["cache-control"]
    assert packed.headers["content-encoding"] == "gzip"
    plain = client.get(script, headers={"accept-encoding": "identity"})
    assert plain.content == packed.content
    assert len(gzip.compress(plain.content)) < len(plain.content)


def test_no_page_may_run_what_is_not_the_servers(client):
    policy = dict(
        part.strip().split(" ", 1) for part in client.get("/").headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in str(policy)
    assert "http://" not in client.get("/").text


@pytest.mark.parametrize(
    "path",
    [
        "/webui/../plugin.py",
        "/webui/%2e%2e/plugin.py",
        "/webui/assets/..%2f..%2fplugin.py",
        "/webui/x",
        "/webui/",
    ],
)
def test_nothing_else_is_handed_out(client, path):
    assert client.get(path).status_code == 404


def test_no_inline_script_or_style_is_in_the_page(client):
    index = client.get("/").text
    assert "<style" not in index
    assert " style=" not in index
    assert re.findall(r"<script[^>]*>([^<]+)", index) == []
