"""Datasets in a real browser: imported, looked into, edited, split, removed."""

import json

import pytest

PHONE = {"width": 360, "height": 780}
FACTS = [
    {
        "messages": [
            {"role": "user", "content": f"What is {n}?"},
            {"role": "assistant", "content": f"It is {n}."},
        ]
    }
    for n in range(30)
]


def as_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def dataset(lab_server, request):
    """A dataset of thirty conversations; returns its name."""
    name = request.node.name.replace("[", "-").rstrip("]").replace("_", "-")[:60]
    body = {"name": name, "format": "jsonl", "text": as_lines(FACTS)}
    answer = lab_server.client.post("/api/datasets", json=body)
    assert answer.status_code == 201, answer.text
    return name


def rows(page):
    return page.get_by_role("region", name="Rows").get_by_role("listitem")


def test_what_is_pasted_becomes_a_dataset(lab_page):
    page = lab_page("datasets")
    page.get_by_role("link", name="Import a file").click()
    page.get_by_label("Or paste it").fill(as_lines(FACTS))
    page.get_by_label("Name of the dataset").fill("pasted")
    page.get_by_role("button", name="Import").click()
    page.get_by_role("heading", name="Good to learn from").wait_for()
    rows(page).nth(19).wait_for()
    assert rows(page).count() == 20
    assert "What is 0?" in rows(page).first.inner_text()
    page.get_by_role("link", name="All datasets").click()
    page.get_by_role("table", name="Datasets").get_by_role("link", name="pasted").wait_for()


def test_a_file_is_named_after_itself_and_its_columns_are_told(lab_page, tmp_path):
    file = tmp_path / "sums of mine.csv"
    file.write_text("question,answer\n1+1,2\n1+2,3\n")
    page = lab_page("datasets", "new")
    page.get_by_label("File").set_input_files(file)
    assert page.get_by_label("Name of the dataset").input_value() == "sums-of-mine"
    page.get_by_text("Columns, parts").click()
    page.get_by_label("Column for prompt").fill("question")
    page.get_by_label("Column for completion").fill("answer")
    page.get_by_role("button", name="Import").click()
    page.get_by_role("region", name="Dataset").get_by_text("completion").wait_for()
    assert "1+2" in rows(page).nth(1).inner_text()


def test_what_is_wrong_with_a_file_is_told_by_its_lines(lab_page):
    page = lab_page("datasets", "new?name=wrong", expected=("400",))
    page.get_by_label("Or paste it").fill('{"text": "a"}\n{"text": "b"\n')
    page.get_by_role("button", name="Import").click()
    page.get_by_role("alert").filter(has_text="line 2").wait_for()
    assert page.get_by_label("Or paste it").input_value().endswith('"b"\n')


def test_rows_are_edited_added_and_removed(lab_page, lab_server, dataset):
    page = lab_page("datasets", "set", dataset)
    page.get_by_label("Edit line 2", exact=True).click()
    editor = page.get_by_role("dialog")
    editor.get_by_label("The row, as JSON").fill("{")
    editor.get_by_role("button", name="Keep").click()
    editor.locator(".hint.error").wait_for()
    other = {"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Nobody."}]}
    editor.get_by_label("The row, as JSON").fill(json.dumps(other))
    editor.get_by_role("button", name="Keep").click()
    rows(page).filter(has_text="Nobody.").wait_for()
    page.get_by_label("Remove line 1", exact=True).click()
    rows(page).filter(has_text="What is 0?").wait_for(state="detached")
    page.get_by_role("button", name="Add a row").click()
    editor.get_by_label("The row, as JSON").fill(json.dumps(FACTS[0]))
    editor.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Later").click()
    rows(page).filter(has_text="What is 0?").wait_for()
    page.reload()
    rows(page).filter(has_text="What is 0?").wait_for()
    kept = lab_server.client.get(f"/api/datasets/{dataset}/rows").json()["rows"]
    assert [row["row"] for row in kept] == [other, *FACTS[2:], FACTS[0]]


def test_a_row_that_is_none_is_refused_and_stays_in_the_editor(lab_page, dataset):
    page = lab_page("datasets", "set", dataset, expected=("400",))
    page.get_by_label("Edit line 1", exact=True).click()
    editor = page.get_by_role("dialog")
    editor.get_by_label("The row, as JSON").fill('{"messages": []}')
    editor.get_by_role("button", name="Keep").click()
    editor.locator(".hint.error").wait_for()
    assert editor.get_by_label("The row, as JSON").input_value() == '{"messages": []}'


def test_rows_are_split_anew_and_the_dataset_is_removed(lab_page, lab_server, dataset):
    page = lab_page("datasets", "set", dataset)
    page.get_by_text("Split anew").click()
    form = page.get_by_role("form", name="Split")
    form.get_by_label("To test with").fill("0.1")
    form.get_by_role("button", name="Split").click()
    page.get_by_role("region", name="Dataset").get_by_text("24 + 3 + 3").wait_for()
    page.get_by_label("Part").select_option("test")
    rows(page).nth(2).wait_for()
    page.wait_for_function("() => document.querySelectorAll('.rows li').length === 3")
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Remove it").click()
    page.get_by_role("link", name="Import a file").wait_for()
    assert lab_server.client.get(f"/api/datasets/{dataset}").status_code == 404


def test_what_is_not_worth_keeping_is_told_and_then_left_out(lab_page, lab_server):
    twice = [{"prompt": "What is the sun?", "completion": "A star."}] * 2
    lines = as_lines([*twice, {"prompt": "And Mars?", "completion": "A planet."}])
    body = {"name": "twice", "format": "jsonl", "text": lines}
    lab_server.client.post("/api/datasets", json=body).raise_for_status()
    page = lab_page("datasets", "set", "twice")
    page.get_by_text("Clean", exact=True).click()
    form = page.get_by_role("form", name="Clean")
    form.get_by_role("button", name="Look what would go").click()
    page.get_by_text("train, line 2").wait_for()
    assert page.get_by_text("2 rows to learn from stay").is_visible()
    assert lab_server.client.get("/api/datasets/twice").json()["splits"] == {"train": 3}
    page.get_by_role("button", name="Leave them out").click()
    page.get_by_label("Part").get_by_text("train, 2 rows").wait_for(state="attached")
    assert lab_server.client.get("/api/datasets/twice").json()["splits"] == {"train": 2}


PAIRS = (
    "Q: What is the sun?\nA: A star.\n\nQ: What is the moon?\nA: A rock.\n\nQ: What is Mars?\nA: A planet.\n"
)


def test_a_dataset_is_written_by_a_template_and_typing_survives_a_reload(lab_page, lab_server):
    page = lab_page("datasets")
    page.get_by_role("link", name="Have one written").click()
    template = next(each for each in templates(lab_server) if each["name"] == "sft_qa_pairs")
    page.get_by_role("article", name=template["label"], exact=True).get_by_role("button").click()
    form = page.get_by_role("form", name=template["label"], exact=True)
    form.get_by_label(template["fields"][0]["label"]).fill(PAIRS)
    form.get_by_label("Name of the dataset").fill("sky")
    page.reload()
    assert form.get_by_label(template["fields"][0]["label"]).input_value() == PAIRS
    form.get_by_role("button", name="Write it").click()
    page.get_by_role("link", name="Look at its rows").click()
    rows(page).filter(has_text="A star.").or_(rows(page).filter(has_text="A rock.")).first.wait_for()
    assert sum(lab_server.client.get("/api/datasets/sky").json()["splits"].values()) == 3


def test_what_a_template_lacks_is_told_beside_its_field(lab_page, lab_server):
    template = next(each for each in templates(lab_server) if each["name"] == "sft_qa_pairs")
    page = lab_page("datasets", "generate?template=sft_qa_pairs&name=nothing", expected=("400",))
    page.get_by_role("button", name="Write it").click()
    page.get_by_role("alert").wait_for()
    field = page.get_by_role("textbox", name=template["fields"][0]["label"])
    assert "error" in page.locator(f"#{field.get_attribute('aria-describedby')}").get_attribute("class")


def templates(server):
    return server.client.get("/api/dataset-templates").json()["templates"]


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, PHONE], ids=["dark", "phone"])
def test_nobody_is_left_out(lab_page, violations, dataset, options):
    page = lab_page("datasets", **options)
    for place, seen in (
        ("datasets", page.get_by_role("link", name=dataset)),
        ("datasets/new", page.get_by_label("Or paste it")),
        ("datasets/generate", page.get_by_role("button", name="Take this").first),
        ("datasets/generate?template=rag_qa", page.get_by_role("button", name="Write it")),
        (f"datasets/set/{dataset}", rows(page).first),
    ):
        page.evaluate("place => { location.hash = place }", f"#/lab/{place}")
        seen.wait_for()
        assert violations(page) == [], place
        assert page.evaluate("document.querySelector('.page').scrollWidth <= innerWidth"), place
    page.get_by_label("Edit line 1", exact=True).click()
    page.get_by_role("dialog").wait_for()
    assert violations(page) == []
