"""Pages that other plugins bring: they appear, work like ours, and their faults are theirs alone."""

import logging
import re
from pathlib import Path
from types import ModuleType

import pytest

from mlxp_core import hookimpl
from mlxp_core.errors import PluginError
from mlxp_core.testing.client import serve
from mlxp_webui import Page
from mlxp_webui.plugin import WebUI

ICON = "M4 4h16v16H4z"
GUIDE = Path(__file__).parents[1] / "PAGES.md"
WORDS = """
import words from "./words.js";

export default function mount(element, app) {
  const { html, preact } = app.ui;
  function Words() {
    return html`<div class="content">
      <h1>${words}</h1>
      <p id="rest">${app.rest.value.join("/")}</p>
      <button onClick=${() => app.chat({ text: "From the page", fields: { top_k: 3 } })}>Use in chat</button>
      <div ref=${(it) => it && (it.innerHTML = app.ui.sanitized("<i>clean</i><img src=x onerror=owned=1>"))}></div>
    </div>`;
  }
  preact.render(html`<${Words} />`, element);
  return () => { window.left = true; preact.render(null, element); };
}
"""


class Brings:
    """A plugin with one page."""

    def __init__(self, page):
        self.page = page

    @hookimpl(optionalhook=True)
    def mlxp_webui_pages(self):
        return [self.page]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "page.js").write_text(WORDS)
    (tmp_path / "words.js").write_text("export default 'Words and more';")
    return tmp_path


@pytest.fixture
def dice(folder):
    return Page(id="dice", title="Dice", icon=ICON, folder=folder, order=30)


def served_with(*plugins, flags=None):
    return serve([], (), plugins=[("webui", WebUI), *plugins], flags=flags)


def test_the_page_of_the_guide_works_as_it_stands_there(
    live_pages, script_folder, visit, violations, tmp_path
):
    guide = GUIDE.read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.+?)^```", guide, re.MULTILINE | re.DOTALL)
    module = re.findall(r"^```js\n(.+?)^```", guide, re.MULTILINE | re.DOTALL)[1]
    plugin = ModuleType("mlxp_dice")
    plugin.__file__ = str(tmp_path / "mlxp_dice.py")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "page.js").write_text(module, encoding="utf-8")
    exec(code, plugin.__dict__)  # it is ours
    with live_pages(script_folder, plugins=[("dice", plugin)]) as served:
        page = visit(served.url)
        page.get_by_role("link", name="Dice").click()
        page.get_by_role("heading", name="Dice").wait_for()
        page.get_by_role("button", name="Roll").click()
        page.get_by_role("rowheader", name="0").wait_for()
        assert violations(page) == []


def test_a_page_of_a_plugin_is_a_page_of_the_app(live_pages, script_folder, visit, dice):
    with live_pages(script_folder, plugins=[("dice", Brings(dice))]) as served:
        page = visit(served.url, expected=["inline event handler"])  # told of what is taken out of the markup
        navigation = page.get_by_role("navigation", name="Pages")
        navigation.get_by_role("link", name="Dice").click()
        page.get_by_role("heading", name="Words and more").wait_for()
        names = navigation.get_by_role("link").all_inner_texts()
        assert names.index("Models") < names.index("Dice") < names.index("Server")
        page.evaluate("location.hash = '#/dice/six/7'")
        page.wait_for_function("document.querySelector('#rest').textContent === 'six/7'")
        assert page.evaluate("window.owned") is None
        page.get_by_role("button", name="Use in chat").click()
        page.locator("#message").wait_for()
        assert page.evaluate("window.left")
        assert page.locator("#message").input_value() == "From the page"
        page.keyboard.press("Enter")
        page.locator(".turn.answer[aria-busy=false] .facts").wait_for()
        page.keyboard.press("Alt+I")
        assert '"top_k": 3' in page.locator("pre.wire").inner_text()


def test_without_the_app_nobody_asks(dice):
    with serve([], (), plugins=[("dice", Brings(dice))]) as served:
        assert served.client.get("/webui/pages").status_code == 404


def test_a_plugin_that_fails_has_no_pages_and_the_others_have_theirs(dice, caplog):
    class Fails:
        @hookimpl(optionalhook=True)
        def mlxp_webui_pages(self):
            raise ValueError("no dice")

    class Wrong:
        @hookimpl(optionalhook=True)
        def mlxp_webui_pages(self, settings):
            return [settings]

    with (
        caplog.at_level(logging.ERROR, "mlxp.webui"),
        served_with(("fails", Fails()), ("wrong", Wrong()), ("dice", Brings(dice))) as served,
    ):
        listed = served.client.get("/webui/pages").json()
    assert listed == [
        {"id": "dice", "title": "Dice", "icon": ICON, "order": 30, "module": "/webui/pages/dice/page.js"}
    ]
    assert "fails" in caplog.text
    assert "wrong" in caplog.text


def test_two_pages_of_one_id_are_refused(dice):
    with pytest.raises(PluginError, match="both bring a page 'dice'"):
        served_with(("one", Brings(dice)), ("two", Brings(dice))).__enter__()


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"id": "Dice"}, "id"),
        ({"id": "chat"}, "id"),
        ({"id": "a/b"}, "id"),
        ({"icon": '"/><script>'}, "icon"),
        ({"module": "missing.js"}, "missing.js"),
    ],
)
def test_a_page_that_could_not_be_shown_is_refused(folder, fields, part):
    with pytest.raises(PluginError, match=part):
        Page(**{"id": "dice", "title": "Dice", "icon": ICON, "folder": folder} | fields)


def test_only_the_folder_is_handed_out(dice, tmp_path):
    secret = tmp_path.parent / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "link.txt").symlink_to(secret)
    with served_with(("dice", Brings(dice))) as served:
        assert served.client.get("/webui/pages/dice/words.js").status_code == 200
        for name in ("%2e%2e/secret.txt", "..%2fsecret.txt", "link.txt", "", "%00"):
            assert served.client.get(f"/webui/pages/dice/{name}").status_code == 404, name
        assert served.client.get("/webui/pages/nobody/words.js").status_code == 404


def test_files_are_open_and_what_they_ask_for_takes_the_key(dice):
    with served_with(("dice", Brings(dice)), flags={"server": {"api_keys": ["k"]}}) as served:
        for path in ("/", "/webui/theme.js", "/webui/pages/dice/page.js"):
            assert served.client.get(path).status_code == 200
        assert served.client.get("/webui/pages").status_code == 401
        assert served.client.get("/webui/pages", headers={"x-api-key": "k"}).status_code == 200
        assert served.client.get("/", headers={"host": "evil.example"}).status_code == 403


def test_a_key_is_asked_for_once_and_used(live_pages, script_folder, visit):
    with live_pages(script_folder, flags={"server": {"api_keys": ["secret-key"]}}) as served:
        page = visit(served.url, expected=["401"])
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("API key").fill("wrong")
        page.keyboard.press("Enter")
        dialog.get_by_label("API key").wait_for()
        dialog.get_by_label("API key").fill("secret-key")
        page.keyboard.press("Enter")
        page.locator(".welcome .hint").wait_for()
        page.locator("#message").fill("Hello!")
        page.keyboard.press("Enter")
        page.locator(".turn.answer .facts").wait_for()
        page.keyboard.press("Alt+I")
        page.get_by_role("button", name="curl", exact=True).click()
        shown = page.locator("pre.wire").inner_text()
        assert "$MLXP_KEY" in shown
        assert "secret-key" not in shown
        page.reload()
        page.locator(".turn.answer .facts").wait_for()
        assert page.get_by_role("dialog").count() == 0
