"""The wizard that fine-tunes, in a real browser: data as the model sees it, the job and its curves, the adapter."""

import json
import re

import pytest

PHONE = {"width": 360, "height": 780}
ROWS = [{"prompt": f"What is {n}?", "completion": f"It is {n}."} for n in range(12)]
QUICK = "steps=4&report_steps=1&eval_steps=2&rank=2&batch_rows=2"


@pytest.fixture(scope="module")
def facts(lab_server):
    """The name of a dataset."""
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    lab_server.client.post(
        "/api/datasets", json={"name": "facts", "format": "jsonl", "text": text}
    ).raise_for_status()
    return "facts"


def look_at(page, model, data):
    page.get_by_role("combobox", name="Model").fill(model)
    page.get_by_role("combobox", name="Dataset").fill(data)
    page.get_by_role("button", name="Look at it").click()


def test_from_a_dataset_to_an_adapter_that_is_mounted_and_compared(lab_page, lab_server, facts):
    page = lab_page("datasets", "set", facts)
    page.get_by_role("link", name="Fine-tune with it").click()
    assert page.get_by_role("combobox", name="Dataset").input_value() == facts
    look_at(page, "sketch", facts)
    page.get_by_role("heading", name="It can be learned from").wait_for()
    page.get_by_text("The first row as the model reads it").click()
    assert page.locator(".sample mark").first.inner_text().startswith("It is 0.")
    form = page.get_by_role("form", name="How")
    form.get_by_label("Name of the adapter").fill("counting")
    form.get_by_label("Rank").fill("2")
    form.get_by_text("More", exact=True).click()
    form.get_by_label("steps (optional)", exact=True).fill("4")
    form.get_by_label("report steps").fill("1")
    form.get_by_label("eval steps").fill("2")
    page.reload()
    form.get_by_role("button", name="Fine-tune").click()
    page.get_by_role("button", name="Mount it and compare").wait_for()
    page.get_by_role("img", name=re.compile("loss: loss .*valid loss")).wait_for()
    page.reload()
    page.get_by_role("img", name="learning rate: learning rate").wait_for()
    page.get_by_role("button", name="Mount it and compare").click()
    page.get_by_role("region", name="Side B").wait_for()
    assert page.get_by_label("Adapter of B").input_value() == "counting"
    page.get_by_label("Most tokens").fill("3")
    page.get_by_label("Message to both").fill("What is 3?")
    page.get_by_role("button", name="Ask both").click()
    page.locator("[aria-label='Conversation B'] .turn.assistant").wait_for()
    assert lab_server.client.get("/v1/adapters").json()["adapters"][-1]["id"] == "counting"


def test_what_cannot_be_learned_is_told_before_anything_starts(lab_page, lab_server):
    body = {"name": "broken", "format": "jsonl", "text": '{"text": "a"}\n{"text": "b"}\n'}
    lab_server.client.post("/api/datasets", json=body).raise_for_status()
    page = lab_page("finetune?model=sketch&method=dpo", expected=("400",))
    look_at(page, "sketch", "broken")
    page.get_by_text("cannot be learned from", exact=False).first.wait_for()
    assert page.get_by_role("button", name="Fine-tune").count() == 0
    look_at(page, "sketch", "nothing")
    page.get_by_role("alert").filter(has_text="nothing").wait_for()


def test_what_is_wrong_is_told_beside_its_field(lab_page, facts):
    page = lab_page(f"finetune?model=sketch&data={facts}&seen=yes&rank=0", expected=("400",))
    page.get_by_role("form", name="How").evaluate("form => { form.noValidate = true }")
    page.get_by_role("button", name="Fine-tune").click()
    page.locator(".hint.error").first.wait_for()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, PHONE], ids=["dark", "phone"])
def test_nobody_is_left_out(lab_page, violations, facts, options):
    page = lab_page(f"finetune?model=sketch&data={facts}&seen=yes&{QUICK}", **options)
    page.get_by_text("The first row as the model reads it").click()
    page.get_by_role("form", name="How").get_by_text("More", exact=True).click()
    assert violations(page) == []
    assert page.evaluate("document.querySelector('.page').scrollWidth <= innerWidth")
