"""Datasets over HTTP."""

import base64

import pytest

from mlxp_core.testing.client import serve
from mlxp_lab.plugin import LabPlugin

TEXT = '{"text": "a"}\n{"text": "b"}\n{"text": "c"}\n'


@pytest.fixture(scope="module")
def lab_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("served") / "lab"


@pytest.fixture(scope="module")
def client(lab_folder):
    """A client of a server with a lab; each test names its datasets differently."""
    with serve([], plugins=[("lab", LabPlugin())], flags={"lab": {"folder": str(lab_folder)}}) as served:
        yield served.client


def make(client, name, **more):
    answer = client.post("/api/datasets", json={"name": name, "format": "jsonl", "text": TEXT, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_looking_makes_nothing(tmp_path):
    with serve(
        [], plugins=[("lab", LabPlugin())], flags={"lab": {"folder": str(tmp_path / "lab")}}
    ) as served:
        assert served.client.get("/api/datasets").json() == {"datasets": []}
    assert not (tmp_path / "lab").exists()


def test_a_dataset_is_imported_shown_inspected_and_removed(client):
    card = make(client, "words", source="words.jsonl", valid=0.3)
    assert (card["name"], card["form"], card["splits"]) == ("words", "text", {"train": 2, "valid": 1})
    assert card["origin"] == {"kind": "import", "source": "words.jsonl", "template": "", "seed": None}
    assert client.get("/api/datasets/words").json() == card
    assert card in client.get("/api/datasets").json()["datasets"]
    told = client.get("/api/datasets/words/inspect").json()
    assert (told["good"], told["form"], [each["rows"] for each in told["splits"]]) == (True, "text", [2, 1])
    assert client.delete("/api/datasets/words").status_code == 204
    assert client.get("/api/datasets/words").status_code == 404


def test_a_file_that_is_no_text_comes_as_base64(client):
    content = base64.b64encode(b"q,a\n1+1,2\n").decode()
    card = make(
        client, "table", text=None, base64=content, format="csv", columns={"prompt": "q", "completion": "a"}
    )
    assert card["form"] == "completion"


def test_rows_are_shown_and_edited(client):
    make(client, "edited")
    shown = client.get("/api/datasets/edited/rows?offset=1&limit=1").json()
    assert shown["rows"] == [{"line": 2, "row": {"text": "b"}, "text": None, "fault": None}]
    assert shown["total"] == 3
    edits = [{"line": 1, "row": None}, {"line": 2, "row": {"text": "B", "id": 7}}, {"row": {"text": "d"}}]
    asked = {"split": "train", "version": shown["version"], "edits": edits}
    done = client.post("/api/datasets/edited/rows", json=asked).json()
    after = client.get("/api/datasets/edited/rows").json()
    assert [row["row"] for row in after["rows"]] == [{"text": "B", "id": 7}, {"text": "c"}, {"text": "d"}]
    assert done == {"version": after["version"], "total": 3}
    again = client.post("/api/datasets/edited/rows", json=asked)
    assert (again.status_code, again.json()["error"]["param"]) == (409, "version")


def test_rows_are_dealt_out_anew(client):
    make(client, "dealt")
    asked = {"valid": 0.34, "test": 0.34, "seed": 3}
    card = client.post("/api/datasets/dealt/split", json=asked).json()
    assert card["splits"] == {"train": 1, "valid": 1, "test": 1}
    rows = {
        split: client.get(f"/api/datasets/dealt/rows?split={split}").json()["rows"][0]["row"]["text"]
        for split in card["splits"]
    }
    assert sorted(rows.values()) == ["a", "b", "c"]


def test_a_dataset_is_cleaned(client):
    make(client, "cleaned", text='{"text": "one of them"}\n' * 3)
    told = client.post("/api/datasets/cleaned/clean", json={"near": 1}).json()
    assert (told["kept"], told["dropped"]) == ({"train": 1}, {"nearly the same as an earlier row": 2})
    assert told["card"]["splits"] == {"train": 3}
    assert [remark["line"] for remark in told["remarks"]] == [2, 3]
    assert client.post("/api/datasets/cleaned/clean", json={"really": True}).json()["card"]["splits"] == {
        "train": 1
    }


@pytest.mark.parametrize(
    ("change", "status", "param"),
    [
        ({"name": "../up"}, 400, "name"),
        ({"name": "taken"}, 409, "name"),
        ({"text": '{"text": "a"}\nno\n'}, 400, None),
        ({"text": None}, 400, "text"),
        ({"base64": "aa"}, 400, "text"),
        ({"text": None, "base64": "!"}, 400, "base64"),
        ({"format": "xlsx"}, 400, None),
        ({"format": None}, 400, "format"),
        ({"format": "parquet"}, 400, None),
        ({"columns": {"words": "q"}}, 400, "columns"),
        ({"valid": 2}, 400, "valid"),
        ({"more": 1}, 400, None),
    ],
)
def test_what_cannot_be_imported_is_refused(client, change, status, param):
    if not client.get("/api/datasets/taken").is_success:
        make(client, "taken")
    before = client.get("/api/datasets").json()
    answer = client.post("/api/datasets", json={"name": "free", "format": "jsonl", "text": TEXT, **change})
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["message"]
    assert error.get("param") == param
    assert client.get("/api/datasets").json() == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/datasets/no", None, 404),
        ("GET", "/api/datasets/no/rows", None, 404),
        ("GET", "/api/datasets/no/inspect", None, 404),
        ("DELETE", "/api/datasets/no", None, 404),
        ("DELETE", "/api/datasets/..", None, 404),
        ("DELETE", "/api/datasets/%2e%2e", None, 404),
        ("POST", "/api/datasets/no/split", {}, 404),
        ("POST", "/api/datasets/no/rows", {"version": "", "edits": []}, 404),
        ("GET", "/api/datasets/some/rows?split=no", None, 400),
        ("GET", "/api/datasets/some/rows?split=test", None, 404),
        ("GET", "/api/datasets/some/rows?limit=-1", None, 400),
        ("GET", "/api/datasets/some/rows?limit=501", None, 400),
        ("GET", "/api/datasets/some/rows?offset=9999999999999", None, 400),
        ("POST", "/api/datasets/some/rows", {"version": "no", "edits": []}, 409),
        ("POST", "/api/datasets/some/rows", {"edits": []}, 400),
        ("POST", "/api/datasets/some/split", {"valid": "a"}, 400),
        ("POST", "/api/datasets/some/clean", {"near": 0.1}, 400),
        ("POST", "/api/datasets/no/clean", {}, 404),
        ("POST", "/api/datasets/some/split", {"valid": 1}, 400),
    ],
)
def test_what_cannot_be_done_is_refused(client, method, path, body, status):
    if not client.get("/api/datasets/some").is_success:
        make(client, "some")
    answer = client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]
