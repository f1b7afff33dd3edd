"""Pictures of every page of the web app, light and dark, wide and narrow, for whoever changes one to look at.

Usage: python screenshots.py FOLDER [MODEL...]. Without models a tiny one with random weights is served.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from find_browser import find_browser
from playwright.sync_api import Browser, Page, sync_playwright

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.live import serve_folders

LOOKS = {"light": (1360, 860), "dark": (1360, 860), "phone": (390, 800)}
SETTLING_MS = 1500


def main() -> None:
    """Serve, visit, and save."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    path = find_browser()
    if path is None:
        sys.exit("there is no Chromium here; run `make browser`")
    with ExitStack() as last, sync_playwright() as started:
        folders = [Path(name) for name in sys.argv[2:]] or [
            write_sketch(Path(last.enter_context(tempfile.TemporaryDirectory())) / "sketch")
        ]
        flags = {"engine": {"dtype": "float32", "memory_budget": "8GB"}}
        served = last.enter_context(serve_folders(*folders, flags=flags))
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for look in LOOKS:
            for name, page in pages(browser, served.url, look):
                page.screenshot(path=out / f"{name}-{look}.png")
                print(out / f"{name}-{look}.png")
        browser.close()


def pages(browser: Browser, url: str, look: str) -> Iterator[tuple[str, Page]]:
    """Yield every page of the navigation with a name for it, and the chat page in its states."""
    with visitor(browser, url, look) as page:
        yield "chat-new", page
        page.locator("#message").fill("Say something, please.")
        page.keyboard.press("Enter")
        page.locator(".turn.answer[aria-busy=false]").wait_for()
        yield "chat", page
        for panel in ("Options", "Inspector"):
            page.locator(".choices").get_by_role("button", name=panel).click()
            yield f"chat-{panel.lower()}", page
            page.get_by_role("button", name=f"Close {panel.lower()}").click()
        links = page.get_by_role("navigation", name="Pages").get_by_role("link")
        for place in range(1, links.count()):
            title = links.nth(place).inner_text()
            links.nth(place).click()
            page.wait_for_timeout(SETTLING_MS)
            yield re.sub(r"\W+", "-", title.lower()), page


@contextmanager
def visitor(browser: Browser, url: str, look: str) -> Iterator[Page]:
    """Open the app as somebody who was never there."""
    width, height = LOOKS[look]
    scheme = "dark" if look == "dark" else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(url)
    page.locator(".welcome").wait_for()
    page.wait_for_load_state("networkidle")
    yield page
    context.close()


if __name__ == "__main__":
    main()
