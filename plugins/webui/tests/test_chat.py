"""The chat page in a real browser, against a real server."""

import re

import pytest

GREETING = "Hello there, this is the first answer."
FIRST, RICH, THOUGHT, CALL, RESULT, LONG, HOSTILE = range(7)
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")


def test_a_visitor_chats(chat):
    page = chat()
    answer = page.ask("Hello!")
    assert answer.locator(".markdown").inner_text() == GREETING
    facts = answer.get_by_role("list", name="Facts about this answer").inner_text()
    for fact in (r"first token \d", "answer 8 tokens", r"prompt \d+, \d+ cached", "context under 1 %"):
        assert re.search(fact, facts), facts
    assert page.page.url.split("/")[-2] == "chat"
    assert page.page.title() == "Chat · mlxp"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_tells_thinking_calls_and_text(chat, pick, protocol):
    page = chat()
    page.page.get_by_label("Protocol").select_option(protocol)
    options = page.open("Options")
    options.get_by_label("Thinking").select_option("on")
    answer = page.ask(f"Think {pick(THOUGHT)}")
    assert answer.locator(".markdown").inner_text() == "Thought out."
    answer.get_by_role("button", name=re.compile("Thought for")).click()
    assert answer.locator(".thought-text").inner_text() == "Let me think about this for a while."

    options.get_by_label("Thinking").select_option("off")
    options.get_by_label("calculator").check()
    page.say(f"Compute {pick(CALL)}")
    card = page.page.get_by_role("region", name="Call of calculator").first
    card.get_by_text("done").wait_for()
    assert '"expression": "2 * (3 + 4)"' in card.locator(".arguments").inner_text()
    assert card.locator(".result").inner_text() == "14"
    page.page.keyboard.press("Escape")  # the script would call again and again


def test_a_result_that_is_typed_in_reaches_the_model(chat, pick):
    page = chat()
    page.open("Options").get_by_label("Tools of your own").fill('[{"name": "calculator"}]')
    answer = page.ask(f"Compute {pick(CALL)}")
    card = answer.get_by_role("region", name="Call of calculator")
    assert card.get_by_text("waits for a result").is_visible()
    card.get_by_label("Result of calculator").fill(f"fourteen {pick(RESULT)}")
    card.get_by_role("button", name="Send result").click()
    assert page.wait(2).locator(".markdown").inner_text() == "The result is fourteen."
    sent = page.request()["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[2]["content"].startswith("fourteen")


def test_stopping_keeps_what_was_written_and_continuing_goes_on(chat, pick):
    page = chat()
    page.say(f"Never end {pick(LONG)}")
    page.page.get_by_text("so forth").first.wait_for()
    page.page.keyboard.press("Escape")
    answer = page.wait()
    before = answer.locator(".markdown").inner_text()
    assert "ended stopped" in answer.locator(".facts").inner_text()
    answer.get_by_role("button", name="Continue").click()
    page.page.get_by_role("button", name="Stop").wait_for()
    page.page.wait_for_function(
        "length => document.querySelector('.markdown').innerText.length > length + 40", arg=len(before)
    )
    page.page.get_by_role("button", name="Stop").click()
    answer = page.wait()
    assert answer.locator(".markdown").inner_text().startswith(before.rstrip())
    assert page.page.locator(".turn").count() == 2
    assert page.request()["messages"][-1]["role"] == "assistant"


def test_editing_makes_a_branch_and_nothing_is_lost(chat, pick):
    page = chat()
    page.ask("Hello!")
    page.page.get_by_label("Edit message").click()
    page.page.get_by_label("Edited message").fill(f"Result, please {pick(RESULT)}")
    page.page.get_by_role("button", name="Send as a branch").click()
    page.page.get_by_text("The result is fourteen.", exact=True).wait_for()
    said = page.page.locator(".turn.user")
    assert "2 / 2" in said.inner_text()
    said.get_by_label("Previous branch").click()
    assert page.page.get_by_text(GREETING, exact=True).is_visible()
    assert said.locator(".said").inner_text() == "Hello!"


def test_asking_again_makes_a_branch_of_the_answer(chat):
    page = chat()
    page.ask("Hello!").get_by_label("Regenerate").click()
    page.page.get_by_text("2 / 2").wait_for()
    answer = page.wait()
    answer.get_by_label("Previous branch").click()
    assert "1 / 2" in page.page.locator(".turn.answer").inner_text()
    page.ask("And then?", 2)
    assert page.page.locator(".turn").count() == 4
    sent = page.request()["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]


def test_two_conversations_are_written_at_once(chat, pick):
    page = chat()
    page.say(f"Never end {pick(LONG)}")
    page.page.get_by_text("so forth").first.wait_for()
    page.page.keyboard.press("Alt+N")
    page.page.locator(".welcome").wait_for()
    page.ask("Hello!")
    assert page.page.get_by_text(GREETING, exact=True).is_visible()
    first = page.page.locator(".heads a", has_text="Never end")
    assert "writing…" in first.inner_text()
    first.click()
    page.page.get_by_role("button", name="Stop").click()
    assert "so forth" in page.wait().locator(".markdown").inner_text()


def test_a_reload_keeps_all(chat, pick):
    page = chat()
    page.open("Options").get_by_label("System prompt").fill("Be brief.")
    page.ask("Hello!")
    page.ask(f"Show me {pick(RICH)}", 2)
    page.page.reload()
    page.page.locator(".turn.answer").nth(1).wait_for()
    assert page.page.locator(".turn.answer .markdown").first.inner_text() == GREETING
    assert page.page.locator(".turn.answer .markdown").nth(1).locator("table").count() == 1
    assert "answer 8 tokens" in page.page.locator(".facts").first.inner_text()
    assert page.open("Options").get_by_label("System prompt").input_value() == "Be brief."


def test_options_reach_the_request(chat):
    page = chat()
    options = page.open("Options")
    assert options.get_by_label("Temperature").get_attribute("placeholder") == "0.9 (model)"
    options.get_by_label("System prompt").fill("Be brief.")
    for label, value in {"Temperature": "0.5", "Top k": "20", "Seed": "7", "Most tokens": "3"}.items():
        options.get_by_label(label, exact=True).fill(value)
    options.get_by_label("Further fields").fill('{"logit_bias": {"5": 1}}')
    answer = page.ask("Hello!")
    assert "ended at its limit" in answer.locator(".facts").inner_text()
    assert "seed 7" in answer.locator(".facts").inner_text()
    asked = page.request()
    assert asked["messages"][0] == {"role": "system", "content": "Be brief."}
    expected = {"temperature": 0.5, "top_k": 20, "seed": 7, "max_tokens": 3, "logit_bias": {"5": 1}}
    assert asked | expected == asked


def test_what_is_typed_wrongly_is_said_and_not_sent(chat):
    page = chat()
    options = page.open("Options")
    options.get_by_label("Answer as JSON of this schema").fill("{")
    assert options.locator(".hint.error").count() == 1
    answer = page.ask("Hello!")
    assert answer.get_by_role("alert").inner_text().startswith("The schema:")


def test_a_refusal_is_shown_in_the_servers_words(chat):
    page = chat(expected=["400"])
    page.open("Options").get_by_label("Further fields").fill('{"temperature": 9}')
    assert "temperature" in page.ask("Hello!").get_by_role("alert").inner_text()
    page.page.get_by_label("Further fields").fill("")
    page.page.get_by_label("Regenerate").click()
    page.page.get_by_text(GREETING, exact=True).wait_for()


def test_every_thing_works_with_the_keyboard_alone(chat):
    page = chat()
    keys = page.page.keyboard
    assert page.page.evaluate("document.activeElement.id") == "message"
    keys.type("Hello!")
    keys.press("Enter")
    page.wait()
    keys.press("ArrowUp")
    page.page.get_by_label("Edited message").wait_for()
    keys.press("Control+A")
    keys.type("Hello again!")
    keys.press("Enter")
    page.page.get_by_text("2 / 2").first.wait_for()
    page.wait()
    keys.press("Alt+O")
    page.page.get_by_role("complementary", name="Options").wait_for()
    keys.press("Alt+I")
    page.page.get_by_role("complementary", name="Inspector").wait_for()
    keys.press("Escape")
    page.page.get_by_role("complementary", name="Inspector").wait_for(state="detached")
    keys.press("Alt+F")
    page.page.wait_for_function("document.activeElement.id === 'search-conversations'")
    keys.press("Alt+N")
    page.page.locator(".welcome").wait_for()
    reached = []
    for _ in range(40):
        keys.press("Tab")
        reached.append(
            page.page.evaluate("document.activeElement.textContent + '|' + document.activeElement.ariaLabel")
        )
    for name in ("Chat", "Models", "Server", "New chat", "What can you do?", "Options", "Inspector"):
        assert any(name in text for text in reached), (name, reached)
