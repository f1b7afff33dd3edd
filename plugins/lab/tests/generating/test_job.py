"""As a job of the server that writes: followed, cancelled in the middle of a reply, gone on with."""

import json

import pluggy
import pytest

from mlxp_core import hookimpl
from mlxp_core.errors import PluginError
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import Finished, Started, TextDelta, Timing, Usage
from mlxp_lab import hookspecs
from mlxp_lab.generating.templates import OWN, gathered
from mlxp_lab.jobs import BadParameters
from mlxp_lab.plugin import LabPlugin

PARAGRAPHS = [f"Paragraph {number} {letter * 20}." for number, letter in enumerate("abcdef")]
TOOLS = {"tools_json": "[]", "scenarios": "a", "mock_results": "b"}


class Writer:
    """A script that holds a paragraph back until it is told to go on."""

    def __init__(self):
        self.asked, self.hold = [], True

    def __call__(self, order):
        text = order.request.prompt[-1].parts[0].text
        self.asked.append(text)
        yield Started("", "")
        yield TextDelta("Rewritten: ")
        if self.hold and text == PARAGRAPHS[3]:
            yield HOLD
        yield TextDelta(text)
        yield Finished("stop", Usage(), Timing())


@pytest.fixture
def served(writer, home):
    """A server whose model is a ``Writer``; no job is left behind."""
    script = Writer()
    flags = {"lab": {"folder": str(home)}}
    with writer(script=script, plugins=[("lab", LabPlugin())], flags=flags) as running:
        yield running, script
        script.hold = False
        running.call(running.engine.release)


def submit(client, **more):
    inputs = {"reference_samples": "a", "raw_text": "\n\n".join(PARAGRAPHS)}
    parameters = {
        "template": "style_transfer",
        "name": "styled",
        "inputs": inputs,
        "server": str(client.base_url),
    }
    return client.post(
        "/api/jobs", json={"kind": "generate", "parameters": {**parameters, "at_once": 1, **more}}
    )


def test_a_job_that_is_stopped_in_the_middle_of_a_reply_goes_on_behind_what_it_has(served, until):
    running, script = served
    client = running.client
    job = submit(client, valid=0.2).json()["id"]

    def shown():
        return client.get(f"/api/jobs/{job}").json()

    until(lambda: len(script.asked) == 4)
    client.post(f"/api/jobs/{job}/cancel")
    until(lambda: shown()["state"] == "cancelled")
    assert shown()["error"] is None, "it had to be killed"
    assert client.get("/api/datasets").json() == {"datasets": []}
    until(lambda: len(running.engine.cancelled) == 1)
    script.hold = False
    client.post(f"/api/jobs/{job}/resume")
    until(lambda: shown()["state"] == "done")
    assert script.asked == [*PARAGRAPHS[:4], *PARAGRAPHS[3:]]
    told = shown()["result"]
    assert (told["rows"], told["valid"], told["dropped"]) == (5, 1, {})
    (card,) = client.get("/api/datasets").json()["datasets"]
    assert card["splits"] == {"train": 5, "valid": 1}
    assert card["origin"] == {"kind": "generate", "source": "sketch", "template": "style_transfer", "seed": 0}
    assert submit(client).status_code == 409


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"template": "no"}, "template"),
        ({"name": "../up"}, "name"),
        ({"inputs": {}}, "inputs.reference_samples"),
        ({"inputs": {"more": "x"}}, "inputs.more"),
        ({"server": "ftp://here"}, "server"),
        ({"server": "http://[::1"}, "server"),
        ({"server": "http://a:99999"}, "server"),
        ({"valid": 1}, "valid"),
        ({"near": 0.1}, "near"),
        ({"temperature": 3}, "temperature"),
        ({"at_once": 0}, "at_once"),
        ({"more": 1}, None),
        ({"template": "rag_qa", "inputs": {"documents": "short"}}, "inputs.documents"),
        ({"template": "rag_qa", "inputs": {"documents": "a", "min_chunk_chars": 3}}, "inputs.min_chunk_chars"),
        ({"template": "cot_synthesis", "inputs": {"questions": "a", "category": "a\nb"}}, "inputs.category"),
        ({"template": "tool_use_traces", "inputs": {**TOOLS, "tools_json": "{"}}, "inputs.tools_json"),
        ({"template": "tool_use_traces", "inputs": {**TOOLS, "mock_results": "b\nc"}}, "inputs.mock_results"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_anything_is_asked(lab, change, param):
    asked = {"template": "style_transfer", "name": "x", "inputs": {"reference_samples": "a", "raw_text": "b"}}
    with pytest.raises(BadParameters) as refused:
        lab.desk.submit("generate", {**asked, **change})
    assert refused.value.param == param


def test_templates_are_listed(served):
    found = served[0].client.get("/api/dataset-templates").json()["templates"]
    assert len({each["name"] for each in found}) == len(found) == 13
    (style,) = (each for each in found if each["name"] == "style_transfer")
    assert style["needs_model"]
    assert [field["name"] for field in style["fields"]] == ["reference_samples", "raw_text"]


def test_a_template_of_a_stranger_makes_a_dataset_in_the_process_of_a_job(lab, tended):
    with pytest.raises(BadParameters) as refused:
        lab.desk.submit("generate", {"template": "lines", "name": "strange", "inputs": {"words": "bad"}})
    assert refused.value.param == "inputs.words"
    job = lab.desk.submit(
        "generate", {"template": "lines", "name": "strange", "inputs": {"words": "one\ntwo"}}
    )
    tended(lambda: lab.desk.get(job.id).ended)
    done = lab.desk.get(job.id)
    assert (done.state, done.error) == ("done", None)
    assert (done.result["rows"], done.result["valid"]) == (1, 1)


class Bringer:
    """A plugin with a template of that name."""

    def __init__(self, *templates):
        self.templates = templates

    @hookimpl
    def mlxp_lab_templates(self):
        return self.templates


@pytest.mark.parametrize(
    ("brought", "words"),
    [
        ((OWN[0],), "two plugins bring the template 'sft_qa_pairs'"),
        ((3,), "returned a int, which is no Template"),
    ],
)
def test_plugins_that_clash_are_told_apart(brought, words):
    manager = pluggy.PluginManager("mlxp")
    for plugin in (LabPlugin(), Bringer(*brought)):
        manager.register(plugin)
    manager.add_hookspecs(hookspecs)
    with pytest.raises(PluginError, match=words):
        gathered(manager)


def test_the_command_makes_a_dataset(mlxp, tmp_path, home):
    file = tmp_path / "pairs.txt"
    file.write_text("Q: One?\nA: One.\n\nQ: Two?\nA: Two, of course.\n")
    done = mlxp(
        "dataset", "generate", "sft_qa_pairs", "-n", "pairs", "-i", f"pairs_text=@{file}", "--valid", "0"
    )
    assert json.loads(done.stdout)["rows"] == 2
    assert (home / "datasets" / "pairs" / "train.jsonl").read_text().count("\n") == 2
