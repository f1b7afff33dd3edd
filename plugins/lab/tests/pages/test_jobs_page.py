"""Jobs in a real browser: listed, followed as they go, stopped, resumed, started from a form made of a schema."""

import pytest

PHONE = {"width": 360, "height": 780}


def region(page, name):
    return page.get_by_role("region", name=name, exact=True)


def test_a_job_is_followed_as_it_goes(lab_page, trial):
    job, gate = trial()
    page = lab_page("jobs", job)
    state, log = region(page, "State"), page.get_by_role("log", name="Lines")
    log.get_by_text("from step 0").wait_for()
    assert state.get_by_text("running", exact=True).is_visible()
    bar = state.get_by_role("progressbar")
    assert bar.get_attribute("value") in (None, "0")
    gate.open(0)
    state.get_by_text("step 0 of 4").wait_for()
    assert float(bar.get_attribute("value")) == 0.25
    gate.open(1)
    region(page, "Curves").get_by_role("img", name="loss: loss 0.5").wait_for()
    gate.open_all()
    state.get_by_text("done", exact=True).wait_for()
    region(page, "Result").get_by_text("4", exact=True).wait_for()
    assert bar.count() == 0


def test_a_reload_shows_all_that_was_said(lab_page, trial):
    job, gate = trial()
    page = lab_page("jobs", job)
    page.get_by_text("from step 0").wait_for()
    gate.open(0, 1, 2)
    drawn = region(page, "Curves").get_by_role("img", name="loss: loss 0.3333")
    drawn.wait_for()
    page.reload()
    page.get_by_text("from step 0").wait_for()
    drawn.wait_for()


def test_a_job_is_cancelled_resumed_run_again_and_forgotten(lab_page, lab_server, trial):
    job, gate = trial()
    page = lab_page("jobs", job)
    page.get_by_text("from step 0").wait_for()
    gate.open(0)
    page.get_by_text("step 0 of 4").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("cancelled", exact=True).wait_for()
    gate.open_all()
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("done", exact=True).wait_for()
    assert "from step 1" in page.get_by_role("log", name="Lines").inner_text()
    assert page.get_by_role("button", name="Resume").count() == 0
    page.get_by_role("button", name="Run again").click()
    page.wait_for_function("job => !location.hash.endsWith(job)", arg=job)
    page.get_by_text("done", exact=True).wait_for()
    again = page.url.rpartition("/")[2]
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("heading", name="Start", exact=True).wait_for()
    assert lab_server.client.get(f"/api/jobs/{again}").status_code == 404
    assert lab_server.client.get(f"/api/jobs/{job}").json()["state"] == "done"


def test_why_a_job_failed_is_told(lab_page, trial):
    job, gate = trial(ending="refuse")
    gate.open_all()
    page = lab_page("jobs", job)
    page.get_by_text("it cannot be done; do something else").wait_for()
    assert page.get_by_text("failed", exact=True).is_visible()


def test_the_list_shows_jobs_by_kind_and_stops_them(lab_page, trial, until):
    one, gate = trial("light")
    other, _ = trial("once")
    until(lambda: gate.reached(0))
    page = lab_page("jobs")
    table = page.get_by_role("table", name="Jobs")
    for job in (one, other):
        table.locator(f"a[href='#/lab/jobs/{job}']").wait_for()
    page.get_by_label("Show").select_option("light")
    table.locator(f"a[href='#/lab/jobs/{other}']").wait_for(state="detached")
    page.reload()
    row = table.get_by_role("row").filter(has=page.locator(f"a[href='#/lab/jobs/{one}']"))
    row.get_by_role("button", name="Cancel").click()
    row.get_by_text("cancelled").wait_for()
    assert page.get_by_label("Show").input_value() == "light"


def test_a_strangers_kind_is_started_from_a_form_of_its_schema(lab_page, gates, until):
    gate = gates()
    page = lab_page("jobs", expected=("400",))
    page.get_by_role("link", name="Start trial").click()
    form = page.get_by_role("form", name="Start trial")
    form.get_by_label("gates").fill("no/such/folder")
    form.get_by_label("ending (optional)").fill("stumble")
    form.get_by_role("button", name="Start").click()
    form.get_by_text("no/such/folder is no folder").wait_for()
    page.reload()
    assert form.get_by_label("ending (optional)").input_value() == "stumble"
    form.get_by_label("gates").fill(str(gate))
    form.get_by_label("ending (optional)").fill("")
    form.get_by_role("button", name="Start").click()
    until(lambda: gate.reached(0))
    gate.open_all()
    page.get_by_text("done", exact=True).wait_for()


def test_speed_is_measured_from_a_form_and_shown_among_the_models(lab_page, lab_server):
    page = lab_page("jobs", "new", "bench?model=sketch&prompt_tokens=8&tokens=4&runs=1")
    page.get_by_role("form", name="Start bench").get_by_role("button", name="Start").click()
    page.get_by_text("done", exact=True).wait_for()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Models").click()
    page.get_by_text("tokens/s measured").wait_for()


@pytest.mark.parametrize(("path", "seen"), [("quantize", "Model"), ("finetune", "Dataset")])
def test_short_addresses_lead_to_wizards(visit, lab_server, path, seen):
    visit(f"{lab_server.url}/{path}").get_by_role("combobox", name=seen).wait_for()


def test_a_job_that_is_not_there_is_told(lab_page):
    page = lab_page("jobs", "job_nothing", expected=("404",))
    page.get_by_text("there is no job 'job_nothing'").wait_for()


FIELDS = """async ([schema, texts]) => {
    const m = await import("/webui/pages/lab/jobs/schema.js");
    const fields = m.fieldsOf(schema);
    const told = fields.map(({ name, kind, required, hint }) => [name, kind, required, hint]);
    return [told, m.parametersOf(fields, texts)];
}"""


def test_a_form_has_a_field_for_whatever_a_schema_may_say(lab_page, lab_server):
    page = lab_page("jobs")
    kinds = {kind["name"]: kind for kind in lab_server.client.get("/api/jobs/kinds").json()["kinds"]}
    asked = {"model": "m", "bits": "3", "target_bpw": "4.5", "candidate_bits": "[3, 6]", "replace": "true"}
    fields, meant = page.evaluate(FIELDS, [kinds["quantize"]["parameters"], {**asked, "mode": "affine"}])
    shapes = {name: (kind, required) for name, kind, required, _ in fields}
    hints = {name: hint for name, _, _, hint in fields}
    assert all(hints.values())
    assert hints["report"] == "whether to say what was lost; takes a second look at the model."
    assert hints["target_bpw"].endswith("Absent = all modules alike.")
    assert shapes["model"] == ("text", True)
    assert shapes["bits"] == shapes["mode"] == ("choice", False)
    assert shapes["target_bpw"] == ("number", False)
    assert shapes["candidate_bits"] == ("json", False)
    assert shapes["replace"] == ("check", False)
    numbers = {"bits": 3, "target_bpw": 4.5, "candidate_bits": [3, 6]}
    fields, meant_too = page.evaluate(
        FIELDS, [kinds["train"]["parameters"], {"targets": "q_proj\n\n v_proj "}]
    )
    assert ["targets", "list"] in [each[:2] for each in fields]
    assert meant_too == {"targets": ["q_proj", "v_proj"]}
    assert meant == {"model": "m", "mode": "affine", "replace": True, **numbers}


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, PHONE], ids=["dark", "phone"])
def test_nobody_is_left_out(lab_page, trial, violations, options):
    job, gate = trial()
    gate.open(0, 1, 2)
    page = lab_page("jobs", **options)
    page.locator(f"a[href='#/lab/jobs/{job}']").wait_for()
    for place, seen in (
        ("jobs", page.get_by_role("link", name="Start trial")),
        (f"jobs/{job}", page.get_by_role("img", name="loss: loss 0.3333")),
        ("jobs/new/quantize", page.get_by_label("candidate bits (optional)")),
    ):
        page.evaluate("place => { location.hash = place }", f"#/lab/{place}")
        seen.wait_for()
        assert violations(page) == [], place
        assert page.evaluate("document.querySelector('.page').scrollWidth <= innerWidth"), place
