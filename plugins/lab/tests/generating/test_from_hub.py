"""Rows of a dataset of the hub, from a stand-in of it on this machine."""

import hashlib
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_lab.generating.from_hub import chosen
from mlxp_lab.jobs import BadParameters, JobFailed

COMMIT = "0123456789abcdef0123456789abcdef01234567"


GONE = b"gone"
"""Content of a file that the hub says is elsewhere, where it is not."""


class Hub:
    """A hub with datasets: (name, revision) -> path -> content."""

    def __init__(self):
        self.there = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def info(self, repo, revision):
        if not any(name == repo for name, _ in self.there):
            return 404, b"{}", {"X-Error-Code": "RepoNotFound"}
        if (repo, revision) not in self.there:
            return 404, b"{}", {"X-Error-Code": "RevisionNotFound"}
        files = [{"rfilename": path} for path in self.there[repo, revision]]
        return 200, json.dumps({"id": repo, "sha": COMMIT, "siblings": files}).encode(), {}

    def file(self, repo, rest):
        for (name, revision), files in self.there.items():
            depth = revision.count("/") + 1
            path = "/".join(rest[depth:])
            if name == repo and "/".join(rest[:depth]) == revision and path in files:
                etag = f'"{hashlib.sha1(files[path]).hexdigest()}"'
                if files[path] == GONE:
                    where = {"Location": f"{self.url}/elsewhere?signature=sesame", "X-Linked-Size": "4"}
                    return 302, b"", {"ETag": etag, "X-Repo-Commit": COMMIT, **where}
                return 200, files[path], {"ETag": etag, "X-Repo-Commit": COMMIT}
        return 404, b"{}", {"X-Error-Code": "EntryNotFound"}

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def handler_of(hub):
    """Return what answers for a hub."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            parts = unquote(self.path).strip("/").split("/")
            if parts[:2] == ["api", "datasets"]:
                told = hub.info("/".join(parts[2:4]), "/".join(parts[5:]))
            else:
                told = hub.file("/".join(parts[1:3]), parts[4:])
            if parts[0].startswith("elsewhere"):
                told = (
                    410 if self.command == "GET" else 200,
                    b"gone",
                    {"ETag": '"1"', "X-Repo-Commit": COMMIT},
                )
            status, body, headers = told
            self.send_response(status)
            for header, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(header, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_HEAD(self):
            self.do_GET()

    return Handler


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub of nothing, with a cache of its own."""
    there = Hub()
    patched = {
        "ENDPOINT": there.url,
        "HUGGINGFACE_CO_URL_TEMPLATE": f"{there.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
        "HF_HUB_CACHE": str(tmp_path / "hub"),
    }
    for name, value in patched.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    yield there
    there.close()


def parquet(rows):
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def rows_of(done):
    return [json.loads(line) for line in (done.output / "train.jsonl").read_text().splitlines()]


def test_texts_are_trimmed_filtered_and_capped(hub, generate):
    told = [
        {"text": "  the first of the texts ", "label": 1},
        {"text": "short", "label": 1},
        {"text": "another label, so it goes", "label": 2},
        {"text": None, "label": 1},
        {"text": "a second one, which is kept", "label": 1},
        {"text": "a third, beyond what was asked for", "label": 1},
    ]
    hub.there["me/texts", "refs/convert/parquet"] = {
        "default/train/0000.parquet": parquet(told[:3]),
        "default/train/0001.parquet": parquet(told[3:]),
        "default/test/0000.parquet": parquet([{"text": "never looked at", "label": 1}]),
    }
    inputs = {
        "hf_id": "me/texts",
        "label_column": "label",
        "label_filter": "1",
        "max_rows": 2,
        "min_chars": 6,
    }
    done = generate("hf_dataset_import", inputs, valid=0)
    assert [row["text"] for row in rows_of(done)] == ["the first of the texts", "a second one, which is kept"]
    assert done.summary["dropped"] == {"too short": 2, "another label": 1}


def test_questions_with_answers_and_messages_become_conversations(hub, generate):
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    hub.there["me/talks", "main"] = {
        "README.md": b"",
        "data/train.jsonl": b'{"q": "One?", "a": "1"}\n{"q": "Two?", "a": ""}\n',
        "data/test.jsonl": json.dumps({"messages": talk}).encode(),
    }
    asked = {"hf_id": "me/talks", "min_chars": 0, "text_column": "q", "answer_column": "a"}
    done = generate("hf_dataset_import", asked, valid=0)
    assert rows_of(done) == [
        {"messages": [{"role": "user", "content": "One?"}, {"role": "assistant", "content": "1"}]}
    ]
    assert done.summary["dropped"] == {"no row": 1}
    done = generate(
        "hf_dataset_import", {"hf_id": "me/talks", "split": "test", "text_column": "messages"}, valid=0
    )
    assert rows_of(done) == [{"messages": talk}]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"hf_id": "me/no"}, "me/no cannot be fetched"),
        ({"hf_id": "me/it", "split": "dev"}, "no files of 'dev'"),
        ({"hf_id": "me/it", "text_column": "words"}, "no column words, but text"),
    ],
)
def test_what_is_not_there_fails_the_job(hub, generate, inputs, words):
    hub.there["me/it", "main"] = {"train.jsonl": b'{"text": "a"}\n'}
    with pytest.raises(JobFailed, match=words):
        generate("hf_dataset_import", inputs)


def test_an_address_that_lets_whoever_has_it_in_is_not_told(hub, generate):
    hub.there["me/it", "main"] = {"train.jsonl": GONE}
    with pytest.raises(JobFailed, match="elsewhere") as refused:
        generate("hf_dataset_import", {"hf_id": "me/it"})
    assert "sesame" not in refused.value.message


@pytest.mark.parametrize("name", ["a/b/c", "../x", "a b", "a--b/c", "/etc"])
def test_what_names_no_dataset_is_refused(generate, name):
    with pytest.raises(BadParameters):
        generate("hf_dataset_import", {"hf_id": name})


def test_a_configuration_is_taken_by_name_or_as_the_usual_one():
    paths = [
        "en/train/0.parquet",
        "de/train/0.parquet",
        "default/train/0.parquet",
        ".x/train.csv",
        "train.md",
    ]
    assert chosen(paths, "de", "train") == ["de/train/0.parquet"]
    assert chosen(paths, "", "train") == ["default/train/0.parquet"]
    assert chosen(["data/train-0.csv", "data/test-0.csv"], "", "train") == ["data/train-0.csv"]
    with pytest.raises(JobFailed, match="name one of de, en"):
        chosen(paths[:2], "", "train")


@given(st.lists(st.text(alphabet="ab/.-", max_size=8).map(lambda name: f"{name}train.csv")))
def test_only_files_that_are_there_are_chosen(paths):
    try:
        found = chosen(paths, "", "train")
    except JobFailed:
        return
    assert set(found) <= set(paths)
