"""The inspector tells what went over the wire; what it gives to copy asks the same again, in a shell and in Python."""

import json
import subprocess
import sys

import pytest

GREETING = "Hello there, this is the first answer."
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
}


def text_of(panel, tab):
    panel.get_by_role("button", name=tab, exact=True).click()
    return panel.locator(".wire").text_content()


@pytest.mark.parametrize("protocol", PATHS)
def test_what_is_copied_asks_the_same(chat, protocol, tmp_path):
    page = chat()
    page.page.get_by_label("Protocol").select_option(protocol)
    options = page.open("Options")
    options.get_by_label("System prompt").fill('It\'s "quoted" $HOME `x` \\ and so on: é 👩‍👧')
    options.get_by_label("Seed").fill("7")
    page.ask("Hello! 'single' \"double\"\nsecond line")
    panel = page.open("Inspector")
    asked = json.loads(text_of(panel, "Request"))
    assert panel.locator("code").first.inner_text() == f"POST {PATHS[protocol]}"
    assert "'single'" in json.dumps(asked)

    told = subprocess.run(
        ["sh", "-c", text_of(panel, "curl")], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    script = tmp_path / "ask.py"
    script.write_text(text_of(panel, "Python"), encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert printed.returncode == 0, printed.stderr
    for word in ("Hello", "first", "answer"):
        assert word in told
        assert word in printed.stdout


def test_the_events_are_those_of_the_answer(chat):
    page = chat()
    page.ask("Hello!")
    panel = page.open("Inspector")
    panel.get_by_role("button", name="Events", exact=True).click()
    events = panel.locator("ol.wire li").all_inner_texts()
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    said = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert said == GREETING
