"""The wizard that quantizes, in a real browser: what each way costs, the job, the report; its state is the address."""

import json
from pathlib import Path

import pytest

from mlxp_lab.quantize.files import REPORT

PHONE = {"width": 360, "height": 780}
QUICK = "rows=1&row_tokens=16"


def look_at(page, name):
    page.get_by_role("combobox", name="Model").fill(name)
    page.get_by_role("button", name="Look at it").click()


def row(page, way):
    """Return the cells of a way to pack."""
    table = page.get_by_role("table", name="Ways to pack it")
    return table.get_by_role("row").filter(has=page.get_by_label(way, exact=True)).inner_text().split("\t")


def test_from_a_model_to_what_each_way_costs(lab_page):
    page = lab_page("quantize")
    proposed = page.locator("datalist option[value=sketch]")
    proposed.wait_for(state="attached")
    look_at(page, "sketch")
    known = page.get_by_role("region", name="What it is")
    known.get_by_text("minicpm5").wait_for()
    assert page.get_by_label("4 bits").is_checked()
    assert row(page, "4 bits")[1] == "4.5"
    assert row(page, "4 bits")[4] == "fits"
    page.get_by_label("Numbers that share a scale").select_option("32")
    page.get_by_label("3 bits").check()
    assert row(page, "3 bits")[1] == "4"
    assert row(page, "mxfp4")[1] == "4.25"
    page.reload()
    assert page.get_by_label("3 bits").is_checked()
    assert row(page, "3 bits")[1] == "4"


def test_a_model_that_nobody_knows_is_told_beside_the_field(lab_page):
    page = lab_page("quantize", expected=("400",))
    look_at(page, "no/such")
    page.get_by_role("combobox", name="Model").wait_for()
    page.locator(".hint.error", has_text="no/such").wait_for()
    assert page.get_by_role("button", name="Quantize").count() == 0


def test_a_mixed_quantization_is_made_and_reported_and_survives_a_reload(lab_page, lab_server):
    page = lab_page(f"quantize?model=sketch&seen=sketch&{QUICK}")
    page.get_by_label("Each module by what it hurts").check()
    page.get_by_label("Mean bits of a number").fill("5.2")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Name of the new model").fill("finer")
    page.get_by_role("button", name="Quantize").click()
    page.get_by_text("done", exact=True).wait_for()
    lost = page.get_by_role("table", name="What was lost")
    lost.get_by_text("mixed, as written").wait_for()
    page.reload()
    lost.get_by_text("mixed, as written").wait_for()
    page.get_by_role("img", name="Sensitivity by block").wait_for()
    (made,) = (each for each in models(lab_server) if each["name"] == "finer")
    report = json.loads((Path(made["path"]) / REPORT).read_text())
    assert report["target_bpw"] == 5.2
    shown = [cell for each in lost.get_by_role("rowheader").all() for cell in [each.inner_text()]]
    assert shown == [line["name"] for line in report["lines"]]
    assert page.get_by_text("mlxp serve finer").is_visible()
    page.get_by_role("button", name="Another quantization").click()
    assert page.get_by_label("Mean bits of a number").input_value() == "5.2"


def test_uniform_and_quick_without_a_report(lab_page, lab_server):
    page = lab_page("quantize?model=sketch&seen=sketch&report=no&way=mxfp4&output=quick")
    page.get_by_role("button", name="Quantize").click()
    page.get_by_text("all modules alike").wait_for()
    assert page.get_by_role("table", name="What was lost").count() == 0
    (made,) = (each for each in models(lab_server) if each["name"] == "quick")
    assert json.loads((Path(made["path"]) / "config.json").read_text())["quantization"]["mode"] == "mxfp4"


def test_what_is_wrong_is_told_beside_its_field(lab_page):
    page = lab_page("quantize?model=sketch&seen=sketch&mixed=yes&target=2", expected=("400",))
    page.get_by_role("button", name="Quantize").click()
    field = page.get_by_label("Mean bits of a number")
    told = page.locator(f"#{field.get_attribute('aria-describedby')}")
    told.get_by_text("the target can be 3.5 to 8.5 bits").wait_for()


def test_keyboard_alone_will_do(lab_page):
    page = lab_page("quantize?model=sketch")
    page.get_by_role("combobox", name="Model").focus()
    page.keyboard.press("Enter")
    page.get_by_label("4 bits").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => location.hash.includes('way=nvfp4')")
    page.keyboard.press("Enter")
    page.get_by_text("done", exact=True).wait_for()


def models(server):
    return server.client.get("/api/lab/models").json()["models"]


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, PHONE], ids=["dark", "phone"])
def test_nobody_is_left_out(lab_page, violations, options):
    page = lab_page("quantize?model=sketch&seen=sketch", **options)
    page.get_by_label("4 bits").wait_for()
    assert violations(page) == []
    page.get_by_label("Each module by what it hurts").check()
    page.get_by_label("Keys and values, too").check()
    page.get_by_text("More", exact=True).click()
    assert violations(page) == []
    assert page.evaluate("document.querySelector('.page').scrollWidth <= innerWidth")
