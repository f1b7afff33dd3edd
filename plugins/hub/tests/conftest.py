"""A hub on a free port of this machine, which answers as the real one does, and misbehaves on demand."""

import hashlib
import json
import re
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_hub.settings import HubSettings

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 4096
"""From this size on, files are kept as large ones: by sha256, behind a redirection to another host."""

API = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/revision/(?P<revision>[^/]+)")
FILE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


class Trouble:
    """How one answer with content goes wrong: it is cut short, damaged, refused, or ignores what range was asked."""

    def __init__(self, *, cut=None, damage=False, status=None, whole=False):
        self.cut, self.damage, self.status, self.whole = cut, damage, status, whole


class StandIn:
    """The hub.

    Attributes:
        repos: name -> path -> content.
        revisions: (name, revision) -> commit.
        refusals: name -> (status, headers that say why).
        troubles: path -> how its next answers go wrong.
        asked: every request for content, as (path, headers).
    """

    def __init__(self):
        self.repos, self.revisions, self.refusals = {}, {}, {}
        self.troubles, self.asked = {}, []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def add(self, repo, files, *, commit=COMMIT, revisions=("main",)):
        self.repos[repo] = dict(files)
        for revision in (*revisions, commit):
            self.revisions[repo, revision] = commit

    def goes_wrong(self, path, *troubles):
        self.troubles[path] = deque(troubles)

    def fetched(self, path):
        """Return the headers of every request for the content of a file."""
        return [headers for place, headers in self.asked if place == path]

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(hub):  # noqa: N805  # the class inside has a self of its own
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                path = unquote(urlsplit(self.path).path)
                if found := API.fullmatch(path):
                    hub._tell(self, found["repo"], found["revision"])
                elif found := FILE.fullmatch(path):
                    hub._give(self, found["repo"], found["path"])
                elif path.startswith("/cdn/"):
                    _, _, owner, name, *rest = path.split("/")
                    hub._send(self, f"{owner}/{name}", "/".join(rest))
                else:
                    answer(self, 404)

        return Handler

    def _tell(self, handler, repo, revision):
        if repo in self.refusals:
            status, headers = self.refusals[repo]
            answer(handler, status, headers=headers)
        elif repo not in self.repos:
            answer(handler, 401, headers={"X-Error-Code": "RepoNotFound"})
        elif (repo, revision) not in self.revisions:
            answer(handler, 404, headers={"X-Error-Code": "RevisionNotFound"})
        else:
            files = [_sibling(path, content) for path, content in self.repos[repo].items()]
            told = {"id": repo, "sha": self.revisions[repo, revision], "siblings": files}
            answer(handler, 200, json.dumps(told).encode(), {"content-type": "application/json"})

    def _give(self, handler, repo, path):
        """Answer for a file: with its content, or, if it is large, with where that is."""
        if len(self.repos[repo][path]) >= LARGE:
            self.asked.append((f"hub:{path}", dict(handler.headers)))
            elsewhere = f"http://localhost:{self.port}/cdn/{repo}/{path}"
            answer(handler, 302, headers={"location": elsewhere})
        else:
            self._send(handler, repo, path)

    def _send(self, handler, repo, path):
        self.asked.append((path, {name.lower(): value for name, value in handler.headers.items()}))
        queue = self.troubles.get(path)
        trouble = queue.popleft() if queue else Trouble()
        content = self.repos[repo][path]
        if trouble.status:
            answer(handler, trouble.status)
            return
        start = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("range", ""))
        if wanted and not trouble.whole:
            start = int(wanted[1])
        if trouble.damage:
            content = content[:start] + bytes(byte ^ 255 for byte in content[start:])
        headers = {"etag": f'"{hashlib.sha256(content).hexdigest()}"'}
        if start:
            headers["content-range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = content[start:]
        answer(handler, 206 if start else 200, body, headers, cut=trouble.cut)


def answer(handler, status, body=b"", headers=None, *, cut=None):
    handler.send_response(status)
    for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body if cut is None else body[:cut])
    if cut is not None:
        handler.wfile.flush()
        handler.close_connection = True


def _sibling(path, content):
    told = {"rfilename": path, "size": len(content)}
    told["blobId"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if len(content) >= LARGE:
        told["lfs"] = {
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
            "pointerSize": 134,
        }
    return told


@pytest.fixture
def trouble():
    """How an answer goes wrong."""
    return Trouble


@pytest.fixture
def hub():
    """A hub without models."""
    server = StandIn()
    yield server
    server.close()


@pytest.fixture
def cache(tmp_path):
    """The folder of the models; absent at first."""
    return tmp_path / "hub"


@pytest.fixture
def settings(hub, cache):
    """Settings for that hub and that folder."""
    return HubSettings(cache=str(cache), endpoint=hub.url, token="secret", prefer=())


@pytest.fixture(scope="session")
def sketch(tmp_path_factory):
    """The files of a model that can be served, by path."""
    folder = write_sketch(tmp_path_factory.mktemp("models") / "sketch")
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def put(cache):
    """Lay a model into the cache, as other programs do."""

    def lay(repo, files, *, commit=COMMIT, refs=("main",)):
        home = cache / f"models--{repo.replace('/', '--')}"
        for path, content in files.items():
            blob = home / "blobs" / hashlib.sha256(content).hexdigest()
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(content)
            link = home / "snapshots" / commit / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(blob)
        for ref in refs:
            (home / "refs").mkdir(exist_ok=True)
            (home / "refs" / ref).write_text(commit)
        return home / "snapshots" / commit

    return lay


class Log:
    """A watcher that writes down what it is told."""

    def __init__(self):
        self.listing, self.arrivals = None, []
        self.found_bytes, self.moved_bytes = {}, {}
        self._lock = threading.Lock()

    def planned(self, listing):
        self.listing = listing

    def found(self, file, count):
        with self._lock:
            self.found_bytes[file.path] = self.found_bytes.get(file.path, 0) + count

    def moved(self, file, count):
        with self._lock:
            self.moved_bytes[file.path] = self.moved_bytes.get(file.path, 0) + count

    def arrived(self, file):
        with self._lock:
            self.arrivals.append(file.path)


@pytest.fixture
def log():
    """A watcher that writes down what it is told."""
    return Log()
