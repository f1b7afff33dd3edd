"""Two conversations side by side in a real browser: with and without an adapter."""

import json

import pytest

PHONE = {"width": 360, "height": 780}


@pytest.fixture
def mounted(lab_server):
    """The id of an adapter that is mounted."""
    lab_server.client.post(
        "/v1/adapters", json={"id": "polite", "path": "polite", "model": "sketch"}
    ).raise_for_status()
    return "polite"


def side(page, letter):
    return page.get_by_role("region", name=f"Side {letter}")


ANSWERED = """turns => [...document.querySelectorAll(".sides > section")].every(
    (side) => side.ariaBusy === "false" && side.querySelectorAll(".turn.assistant").length === turns)"""


def ask(page, text, turns=1):
    """Ask both for the answer of that number, and return the bodies of the requests, once both are answered."""
    sent = []
    note = lambda request: request.url.endswith("/v1/chat/completions") and sent.append(request.post_data)  # noqa: E731
    page.on("request", note)
    page.get_by_label("Message to both").fill(text)
    page.get_by_role("button", name="Ask both").click()
    page.wait_for_function(ANSWERED, arg=turns)
    page.remove_listener("request", note)
    return [json.loads(body) for body in sent]


def test_both_are_asked_the_same_and_one_with_the_adapter(lab_page, mounted):
    page = lab_page("compare?tokens=4")
    side(page, "B").get_by_label("Adapter of B").select_option(mounted)
    one, other = ask(page, "Hello!")
    assert {one["adapter"], other["adapter"]} == {"none", mounted}
    assert [each["messages"] for each in (one, other)] == 2 * [[{"role": "user", "content": "Hello!"}]]
    assert (
        side(page, "A").locator(".turn.assistant").count()
        == side(page, "B").locator(".turn.assistant").count()
        == 1
    )
    bodies = ask(page, "And again", 2)
    assert [[turn["role"] for turn in body["messages"]] for body in bodies] == 2 * [
        ["user", "assistant", "user"]
    ]
    page.reload()
    assert page.get_by_label("Adapter of B").input_value() == mounted
    page.get_by_role("button", name="Chat with B").click()
    page.locator("#message").fill("Hello from the chat")
    with page.expect_request(lambda asked: asked.method == "POST") as told:
        page.keyboard.press("Enter")
    assert told.value.post_data_json["adapter"] == mounted


def test_what_goes_wrong_on_one_side_is_told_there(lab_page):
    page = lab_page("compare?tokens=4&adapter_b=gone", expected=("400",))
    ask(page, "Hello!")
    side(page, "B").get_by_text("unknown adapter 'gone'").wait_for()
    assert side(page, "A").locator(".error").count() == 0


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, PHONE], ids=["dark", "phone"])
def test_nobody_is_left_out(lab_page, violations, mounted, options):
    page = lab_page(f"compare?tokens=4&adapter_b={mounted}", **options)
    ask(page, "Hello!")
    assert violations(page) == []
    assert page.evaluate("document.querySelector('.page').scrollWidth <= innerWidth")
