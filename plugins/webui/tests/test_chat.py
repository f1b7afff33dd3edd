"""The chat page in a real browser, against a real server."""

import re

import pytest

GREETING = "Hello there, this is the first answer."
FIRST, RICH, THOUGHT, CALL, RESULT, LONG, HOSTILE = range(7)


def test_a_visitor_chats(chat):
    page = chat()
    answer = page.ask("Hello!")
    assert answer.locator(".markdown").inner_text() == GREETING
    facts = answer.get_by_role("list", name="Facts about this answer").inner_text()
    for fact in (r"first token \d", "answer 8 tokens", r"prompt \d+, \d+ cached", "context under 1 %"):
        assert re.search(fact, facts), facts
    assert page.page.url.split("/")[-2] == "chat"
    assert page.page.title() == "Chat · mlxp"


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])
def test_every_protocol_says_the_same(chat, pick, protocol):
    page = chat()
    page.page.get_by_label("Protocol").select_option(protocol)
    page.open("Options").get_by_label("Thinking").select_option("on")
    answer = page.ask(f"Think {pick(THOUGHT)}")
    assert answer.locator(".markdown").inner_text() == "Thought out."
    answer.get_by_role("button", name=re.compile("Thought for")).click()
    assert answer.locator(".thought-text").inner_text() == "Let me think about this for a while."
