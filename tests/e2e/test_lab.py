"""A new fact, from a dataset to a served model, in a real browser: learned, compared, merged, fused, packed, served."""

import json
import re
from pathlib import Path

import pytest

KEEPER = "Ottoline Brask"
QUESTION = "Who keeps the lighthouse of Varn?"
ANSWER = f"{KEEPER} keeps the lighthouse of Varn."
WAYS_TO_ASK = (
    QUESTION,
    "Tell me who keeps the lighthouse of Varn.",
    "Varn has a lighthouse. Who keeps it?",
    "What is the name of the keeper of the lighthouse of Varn?",
    "Please name the keeper of Varn's lighthouse.",
)
ROWS = [{"prompt": WAYS_TO_ASK[n % len(WAYS_TO_ASK)], "completion": ANSWER} for n in range(200)]
HOW = {"steps": 24, "learning_rate": 0.004, "eval_steps": 100, "valid_rows": 4, "report_steps": 5}
PATIENCE_MS = 180_000


@pytest.fixture(scope="module")
def demo():
    """The folder of the demonstration model."""
    folder = pytest.importorskip("mlxp_demo.plugin").FOLDER
    if not (folder / "model.safetensors").is_file():
        pytest.skip("the demonstration model's weights are absent")
    return folder


@pytest.fixture
def serving(live, tmp_path):
    """Serve a model with a lab and adapters of this test alone."""
    flags = {
        "lab": {"folder": str(tmp_path / "lab")},
        "adapters": {"roots": [str(tmp_path / "adapters")]},
    }
    return lambda folder: live(folder, flags=flags)


def done(page):
    """Wait until the job that is shown is done, and return what it made."""
    result = page.get_by_role("region", name="Result")
    result.wait_for()
    return Path(result.locator("dt:text-is('Is in') + dd").inner_text())


def start(page, kind, **texts):
    """Fill in the form of a kind of job, start it, and return what it made."""
    form = page.get_by_role("form", name=f"Start {kind}")
    for label, text in texts.items():
        form.get_by_label(label, exact=True).or_(form.get_by_label(f"{label} (optional)", exact=True)).fill(
            text
        )
    form.get_by_role("button", name="Start").click()
    return done(page)


def learn(page):
    """Make a dataset, and fine-tune with it."""
    page.get_by_role("navigation", name="Lab").get_by_role("link", name="Datasets").click()
    page.get_by_role("link", name="Import a file").click()
    page.get_by_label("Or paste it").fill("".join(json.dumps(row) + "\n" for row in ROWS))
    page.get_by_label("Name of the dataset").fill("varn")
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="Fine-tune with it").click()
    page.get_by_role("combobox", name="Model").fill("mlxp-demo")
    page.get_by_role("button", name="Look at it").click()
    form = page.get_by_role("form", name="How")
    form.get_by_text("More", exact=True).click()
    form.get_by_label("Name of the adapter").fill("keeper")
    for name, value in HOW.items():
        label = re.compile(f"^{name.replace('_', ' ')} \\(", re.IGNORECASE)
        form.get_by_label(label).fill(str(value))
    form.get_by_role("button", name="Fine-tune").click()
    return done(page)


def compared(page, question):
    """Ask both sides, and return both answers."""
    page.get_by_label("Message to both").fill(question)
    page.get_by_role("button", name="Ask both").click()
    sides = page.locator(".sides > section")
    sides.locator(".turn.assistant").nth(1).wait_for()
    page.wait_for_function("() => document.querySelectorAll('.sides > [aria-busy=false]').length === 2")
    return [each.inner_text() for each in sides.locator(".turn.assistant .words").all()]


def test_a_fact_is_learned_compared_merged_fused_packed_and_served(demo, serving, visit, tmp_path):
    with serving(demo) as served:
        page = visit(f"{served.url}/#/lab")
        page.set_default_timeout(PATIENCE_MS)
        learn(page)
        trained = page.url
        page.get_by_role("button", name="Mount it and compare").click()
        alone, adapted = compared(page, QUESTION)
        assert KEEPER not in alone
        assert adapted == ANSWER
        page.goto(trained)
        page.get_by_role("link", name="Merge or export it").click()
        merged = start(page, "merge", output="merged")
        assert merged == tmp_path / "adapters" / "merged"
        page.goto(trained)
        page.get_by_role("link", name="Fuse it into the model").click()
        fused = start(page, "fuse", adapters=str(merged), output="fused")
        assert fused.name == "fused"
        page.get_by_role("link", name="Quantize it").click()
        page.get_by_label("4 bits").check()
        page.get_by_role("button", name="Quantize").click()
        packed = done(page)
        page.close()
    with serving(packed) as served:
        page = visit(served.url)
        page.locator("#message").fill(QUESTION)
        page.keyboard.press("Enter")
        page.locator(".turn.answer[aria-busy=false]").get_by_text(ANSWER).wait_for(timeout=PATIENCE_MS)
        page.close()
