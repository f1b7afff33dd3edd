"""Conversations as things that are kept: found, renamed, taken out as files and brought back, deleted."""

import json

GREETING = "Hello there, this is the first answer."
RESULT = 4


def open_menu(page, title):
    page.page.get_by_label(f"More for “{title}”").click()
    return page.page.get_by_role("dialog")


def taken(page, click):
    with page.page.expect_download() as download:
        click()
    return download.value.path().read_text(encoding="utf-8"), download.value.suggested_filename


def test_they_are_found_by_what_was_said_and_renamed(chat, pick):
    page = chat()
    page.ask("Hello!")
    page.page.get_by_role("link", name="New chat").click()
    page.page.locator(".welcome").wait_for()
    page.ask(f"The result? {pick(RESULT)}")
    heads = page.page.locator(".heads .title")
    assert heads.count() == 2
    page.page.get_by_label("Search conversations").fill("fourteen")
    assert heads.count() == 1
    page.page.get_by_label("Search conversations").fill("neither of them")
    assert page.page.get_by_text("Nothing found.").is_visible()
    page.page.get_by_label("Search conversations").fill("")
    menu = open_menu(page, "Hello!")
    menu.get_by_label("Title").fill("Greetings")
    menu.get_by_role("button", name="Rename").click()
    page.page.locator(".heads a", has_text="Greetings").click()
    page.page.locator(".chat-header h2", has_text="Greetings").wait_for()
    page.page.reload()
    page.page.locator(".heads .title", has_text="Greetings").wait_for()


def test_they_leave_as_files_and_come_back(chat, tmp_path):
    page = chat()
    page.ask("Hello!").get_by_label("Regenerate").click()
    page.page.get_by_text("2 / 2").wait_for()
    page.wait()
    written, name = taken(
        page, lambda: open_menu(page, "Hello!").get_by_role("button", name="Markdown").click()
    )
    assert name == "Hello.md"
    assert written.startswith("# Hello!\n")
    assert GREETING in written
    whole, name = taken(page, lambda: page.page.get_by_role("button", name="Export all").click())
    assert name == "mlxp-conversations.json"
    (conversation,) = json.loads(whole)["conversations"]
    assert len(conversation["turns"]) == 3
    menu = open_menu(page, "Hello!")
    menu.get_by_role("button", name="Delete").click()
    page.page.locator(".welcome").wait_for()
    assert page.page.locator(".heads li").count() == 0
    page.page.reload()
    page.page.locator(".welcome").wait_for()
    assert page.page.locator(".heads li").count() == 0
    page.page.get_by_label("Import conversations").set_input_files(
        {"name": "all.json", "mimeType": "application/json", "buffer": whole.encode()}
    )
    page.page.locator(".heads a", has_text="Hello!").click()
    page.page.get_by_text("2 / 2").wait_for()
    again, _ = taken(page, lambda: page.page.get_by_role("button", name="Export all").click())
    assert json.loads(again) == json.loads(whole)


def test_a_file_that_holds_none_is_refused_in_words(chat):
    page = chat()
    page.page.get_by_label("Import conversations").set_input_files(
        {"name": "no.json", "mimeType": "application/json", "buffer": b'{"format": "else"}'}
    )
    page.page.get_by_text("no.json: this file holds no conversations").wait_for()


def test_two_tabs_show_the_same(chat):
    page = chat()
    other = page.page.context.new_page()
    other.goto(page.page.url)
    other.locator(".welcome").wait_for()
    page.ask("Hello!")
    other.locator(".heads a", has_text="Hello!").click()
    other.get_by_text(GREETING, exact=True).wait_for()
    page.ask("And again!", 2)
    other.locator(".turn.answer").nth(1).wait_for()
    open_menu(page, "Hello!").get_by_role("button", name="Delete").click()
    other.locator(".heads li").wait_for(state="detached")
