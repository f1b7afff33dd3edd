"""What every suite of the repository may use: the shared data files, where they are present, and a browser."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent

# A test is no benchmark: on a busy machine an example may take its time.
settings.register_profile("mlxp", deadline=None)
settings.load_profile("mlxp")

os.environ["MLXP_LAB_FOLDER"] = str(Path(tempfile.gettempdir()) / f"mlxp-lab-of-tests-{os.getpid()}")
"""No server that a test starts looks after the jobs of whoever runs the tests."""


@pytest.fixture(scope="session")
def shared():
    """The folder of shared data (tokenizers, templates, checkpoint tools); skips where it is absent."""
    folder = Path(os.environ.get("MLXP_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared data folder is absent (set MLXP_SHARED)")
    return folder


@pytest.fixture(scope="session")
def tiny_checkpoints(shared, tmp_path_factory):
    """A folder with tiny random checkpoints of every family variant, made once per session."""
    out = tmp_path_factory.mktemp("tiny")
    script = shared / "tools" / "checkpoints" / "tiny_checkpoints.py"
    subprocess.run([sys.executable, str(script), str(out)], check=True, capture_output=True)
    return out


@pytest.fixture(scope="session")
def puppets(shared):
    """The maker of checkpoints that say what a script has them say."""
    source = shared / "tools" / "puppet" / "puppet.py"
    if not source.is_file():
        pytest.skip("the puppet maker is absent")
    return _module_at(source)


def _module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def chromium():
    """A real browser; skips where there is none, but for CI, which must have one.

    Not for the session: while playwright is there, no test of the main thread could run an event loop of its own.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    path = _module_at(ROOT / "tools" / "webui" / "find_browser.py").find_browser()
    if path is None:
        missing = "there is no Chromium; run `make browser`, or name one with MLXP_CHROMIUM"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox", *quiet])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open pages as a new visitor each; what they complain of on the console fails the test."""
    contexts, complaints = [], []

    def open_page(url, *, width=1280, height=800, expected=(), **options):
        """Return the page; ``expected`` are parts of complaints that belong to the test."""
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()

        def heard(text):
            if not any(part in text for part in expected):
                complaints.append(text)

        page.on("console", lambda said: heard(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: heard(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def violations():
    """Say what axe-core finds wrong with a page, as it is now."""
    script = ROOT / "plugins" / "webui" / "app" / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        pytest.skip("axe-core is not installed; run `make env`")

    def look(page):
        page.evaluate(script.read_text(encoding="utf-8"))
        found = page.evaluate("() => axe.run()")["violations"]
        return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]

    return look
