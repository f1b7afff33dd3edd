"""What a model says never runs: markup that tries, in answers, thoughts, calls and titles."""

import pytest

HOSTILE = 6


@pytest.fixture
def asked(chat, pick):
    """A page on which the hostile answer stands, and the addresses that were asked for."""
    page = chat()
    requests = []
    page.page.on("request", lambda request: requests.append(request.url))
    page.ask(f"Attack <img src=x onerror=window.owned=20> {pick(HOSTILE)}").get_by_text(
        "The end of it."
    ).wait_for()
    page.page.wait_for_load_state("networkidle")
    return page, requests


def test_nothing_of_it_runs_or_leaves(asked, scripted):
    page, requests = asked
    assert page.page.evaluate("window.owned") is None
    assert all(url.startswith((scripted.url, "data:", "blob:")) for url in requests), requests


def test_nothing_of_it_is_alive(asked):
    page, _ = asked
    alive = page.page.locator(".turns").evaluate(
        """turns => [...turns.querySelectorAll('*')].filter(element =>
            /^(script|iframe|object|embed|style|link|form|base|meta)$/i.test(element.tagName)
            || [...element.attributes].some(({ name, value }) =>
                /^on/i.test(name) || /^\\s*(javascript|data:text|vbscript)/i.test(value)))
        .map(element => element.outerHTML)"""
    )
    assert alive == []
    assert page.page.locator(".turn.answer .markdown img").count() == 0


def test_its_links_lead_nowhere_bad(asked):
    page, _ = asked
    links = page.page.locator(".turn.answer .markdown a").evaluate_all(
        "all => all.map(a => a.getAttribute('href'))"
    )
    assert all(link is None or link.startswith(("http:", "https:", "mailto:", "#")) for link in links), links
    before = page.page.url
    for link in page.page.locator(".turn.answer .markdown a").all():
        link.click()
    assert page.page.url == before
    assert page.page.evaluate("window.owned") is None


def test_it_stays_so_after_a_reload(asked):
    page, _ = asked
    page.page.reload()
    page.page.get_by_text("The end of it.").wait_for()
    page.page.wait_for_load_state("networkidle")
    assert page.page.evaluate("window.owned") is None
