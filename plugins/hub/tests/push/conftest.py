"""A hub on a free port of this machine that takes what is pushed, as the real one does, and misbehaves on demand."""

import base64
import hashlib
import json
import re
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from mlxp_hub.settings import HubSettings

LARGE = 4096
"""From this size on, files go by LFS."""

KIND = "(?P<kind>models|datasets)"
REPO = r"(?P<repo>[^/]+/[^/]+)"


class Receiver:
    """The hub.

    Attributes:
        repos: (kind, name) -> {"private", "files": path -> content, "commits": messages}.
        blobs: sha256 -> content, of large files that have arrived.
        puts: sizes of what was sent of large files, whole or not.
        troubles: statuses of the next answers to large files; None = it is taken.
        part_bytes: large files come in parts of that size; None = as one.
    """

    token = "secret"

    def __init__(self):
        self.repos, self.blobs, self.parts, self.puts = {}, {}, {}, []
        self.troubles, self.part_bytes = deque(), None
        self.refused = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def files(self, repo, kind="models"):
        return self.repos[kind, repo]["files"]

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def create(self, asked):
        owner, kind = asked["organization"], f"{asked.get('type', 'model')}s"
        repo = f"{owner}/{asked['name']}"
        if repo in self.refused:
            return self.refused[repo], {"error": "no"}
        prefix = "" if kind == "models" else f"{kind}/"
        url = f"{self.url}/{prefix}{repo}"
        if (kind, repo) in self.repos:
            return 409, {"error": "You already created this repo", "url": url}
        private = asked.get("visibility") == "private"
        self.repos[kind, repo] = {"private": private, "files": {}, "commits": []}
        return 200, {"url": url}

    def show(self, kind, repo):
        if (kind, repo) not in self.repos:
            return 404, {"error": "Repository not found"}
        there = self.repos[kind, repo]
        return 200, {"id": repo, "sha": "0" * 40, "private": there["private"], "siblings": [], "tags": []}

    def preupload(self, kind, repo, asked):
        there = self.repos[kind, repo]["files"]
        told = []
        for file in asked["files"]:
            mode = "lfs" if file["size"] >= LARGE else "regular"
            told.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": None})
            if file["path"] in there and mode == "lfs":
                told[-1]["oid"] = hashlib.sha256(there[file["path"]]).hexdigest()
        return 200, {"files": told}

    def batch(self, asked):
        return 200, {"transfer": "basic", "objects": [self._object(each) for each in asked["objects"]]}

    def _object(self, wanted):
        oid, size = wanted["oid"], wanted["size"]
        told = {"oid": oid, "size": size}
        if oid in self.blobs:
            return told
        header = {}
        place, signed = f"{self.url}/lfs/{oid}", "?signature=sesame"
        if self.part_bytes is not None:
            count = -(-size // self.part_bytes)
            header = {"chunk_size": str(self.part_bytes)}
            header |= {str(number): f"{place}/{number}{signed}" for number in range(1, count + 1)}
            place = f"{self.url}/complete"
        verify = {"href": f"{self.url}/verify"}
        return {**told, "actions": {"upload": {"href": place + signed, "header": header}, "verify": verify}}

    def complete(self, asked):
        parts = self.parts.pop(asked["oid"])
        return self.take(asked["oid"], b"".join(parts[part["partNumber"]] for part in asked["parts"]))

    def take(self, oid, content):
        if hashlib.sha256(content).hexdigest() != oid:
            return 400, {"error": "damaged"}
        self.blobs[oid] = content
        return 200, {}

    def commit(self, kind, repo, lines):
        header, *operations = lines
        there = self.repos[kind, repo]
        for operation in operations:
            value = operation["value"]
            large = operation["key"] == "lfsFile"
            content = self.blobs[value["oid"]] if large else base64.b64decode(value["content"])
            there["files"][value["path"]] = content
        there["commits"].append(header["value"]["summary"])
        commit = hashlib.sha1(json.dumps(lines).encode()).hexdigest()
        return 200, {
            "commitUrl": f"{self.url}/{repo}/commit/{commit}",
            "commitOid": commit,
            "pullRequestUrl": None,
        }


def routes_of(hub):
    """Return (method, pattern, what answers a body) for each path but those of large files."""
    return [
        ("POST", r"/api/repos/create", lambda body: hub.create(json.loads(body))),
        ("POST", r"/api/validate-yaml", lambda _: (200, {"errors": [], "warnings": []})),
        ("GET", rf"/api/{KIND}/{REPO}", lambda _, **found: hub.show(**found)),
        (
            "POST",
            rf"/api/{KIND}/{REPO}/preupload/main",
            lambda body, **found: hub.preupload(**found, asked=json.loads(body)),
        ),
        (
            "POST",
            rf"/(?:datasets/)?{REPO}\.git/info/lfs/objects/batch",
            lambda body, **_: hub.batch(json.loads(body)),
        ),
        ("POST", r"/complete", lambda body: hub.complete(json.loads(body))),
        ("POST", r"/verify", lambda body: (200 if json.loads(body)["oid"] in hub.blobs else 404, {})),
        (
            "POST",
            rf"/api/{KIND}/{REPO}/commit/main",
            lambda body, **found: hub.commit(**found, lines=[json.loads(line) for line in body.splitlines()]),
        ),
        ("GET", r"/api/whoami-v2", lambda _: (200, {"name": "somebody", "type": "user"})),
    ]


def handler_of(hub):
    """Return what answers for a hub."""
    routes = routes_of(hub)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            path, body = urlsplit(self.path).path, body_of(self)
            signed = path == "/complete"  # by its address, as what takes the parts
            if not signed and self.headers.get("authorization") != f"Bearer {hub.token}":
                answer(self, 401, {"error": "Invalid username or password."})
                return
            for method, pattern, work in routes:
                if method == self.command and (found := re.fullmatch(pattern, path)):
                    answer(self, *work(body, **found.groupdict()))
                    return
            answer(self, 404, {"error": f"no {path}"})

        def do_POST(self):
            self.do_GET()

        def do_PUT(self):
            content = body_of(self)
            hub.puts.append(len(content))
            trouble = hub.troubles.popleft() if hub.troubles else None
            _, _, oid, *part = urlsplit(self.path).path.split("/")
            if trouble is not None:
                answer(self, trouble, {})
            elif part:
                hub.parts.setdefault(oid, {})[int(part[0])] = content
                answer(self, 200, {}, etag=f'"{part[0]}"')
            else:
                answer(self, *hub.take(oid, content))

    return Handler


def answer(handler, status, told, **headers):
    body = json.dumps(told).encode()
    handler.send_response(status)
    usual = {"content-type": "application/json", "content-length": str(len(body))}
    for name, value in {**usual, **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def body_of(handler):
    if handler.headers.get("transfer-encoding") != "chunked":
        return handler.rfile.read(int(handler.headers.get("content-length", 0)))
    content = b""
    while size := int(handler.rfile.readline(), 16):
        content += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return content


@pytest.fixture
def receiver(monkeypatch, tmp_path):
    """A hub without anything; its waits between attempts are none."""
    hub = Receiver()
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    yield hub
    hub.close()


@pytest.fixture
def settings(receiver, tmp_path):
    """Settings for that hub."""
    return HubSettings(cache=str(tmp_path / "hub"), endpoint=receiver.url, token=receiver.token, prefer=())


@pytest.fixture
def model(tmp_path):
    """A folder with a model: two large files, small ones, and what is nobody's business."""
    folder = tmp_path / "made" / "tiny-4bit"
    (folder / ".cache").mkdir(parents=True)
    (folder / "config.json").write_text(
        json.dumps({"model_type": "llama", "quantization": {"bits": 4, "group_size": 64}})
    )
    for number in (1, 2):
        (folder / f"model-{number}.safetensors").write_bytes(bytes([number]) * 10_000)
    (folder / "mlxp_quantization.json").write_text(
        json.dumps({"base_model": "owner/tiny", "method": "mixed", "bits_per_weight": 4.5})
    )
    (folder / "empty.txt").touch()
    (folder / "mlxp_job.json").write_text("{}")
    (folder / ".cache" / "x").write_text("x")
    return folder


@pytest.fixture
def adapter(tmp_path):
    """A folder with an adapter."""
    folder = tmp_path / "adapters" / "pirate"
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(
        json.dumps({"lora_parameters": {"rank": 8}, "model": "owner/tiny", "fine_tune_type": "lora"})
    )
    (folder / "adapters.safetensors").write_bytes(b"a" * 5000)
    return folder


@pytest.fixture
def dataset(tmp_path):
    """A folder with a dataset."""
    folder = tmp_path / "lab" / "datasets" / "words"
    folder.mkdir(parents=True)
    (folder / "train.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    (folder / "valid.jsonl").write_text('{"text": "c"}\n')
    origin = {"kind": "generate", "template": "style_transfer", "source": "owner/big"}
    (folder / "dataset.json").write_text(json.dumps({"origin": origin, "made_at": 1}))
    return folder
