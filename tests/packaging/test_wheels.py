"""The wheels, as a stranger gets them: built, installed with pip into a bare environment, listed, serving."""

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import venv
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import openai
import pytest

from mlxp_core.loading.sketch import LEAST_VOCABULARY, sketch_config, write_sketch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
STRANGERS = sorted((ROOT / "tests" / "third_party").glob("mlxp-*"))
OURS = [ROOT, ROOT / "core", *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
UV = (sys.executable, "-m", "uv")
PATIENCE_S = 60
WIDTH = 16


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Every wheel of the repository, the strangers' included."""
    out = tmp_path_factory.mktemp("wheels")

    def build(folder):
        run(*UV, "build", "--quiet", "--wheel", "--out-dir", out, folder)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(build, [*OURS, *STRANGERS]))
    return out


def wheel_of(wheels, dist):
    (found,) = wheels.glob(f"{dist.replace('-', '_')}-*.whl")
    return found


@pytest.fixture(scope="module")
def bare(wheels, tmp_path_factory):
    """A new environment with everything of ours and the strangers' plugins; returns its folder of commands."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home / "env", with_pip=True)
    commands = home / "env" / "bin"
    pip = (commands / "python", "-m", "pip", "--disable-pip-version-check")
    server = f"{wheel_of(wheels, 'mlxp-server')}{'[cpu]' if sys.platform == 'linux' else ''}"
    kit = f"{wheel_of(wheels, 'mlxp-core')}[testing]"
    strangers = [wheel_of(wheels, folder.name) for folder in STRANGERS]
    run(*pip, "install", "--quiet", "--find-links", wheels, server, kit, *strangers)
    run(*pip, "check")
    return commands


@contextmanager
def serving(bare, folder, home):
    """Run the installed command; yields the address."""
    environ = {
        "PATH": os.defpath,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONUNBUFFERED": "1",
    }
    command = [bare / "mlxp", "serve", *([folder] if folder else []), "--port", "0"]
    with subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environ,
        cwd=home,
    ) as process:
        lines = queue.Queue()
        reader = threading.Thread(target=lambda: [lines.put(line) for line in process.stdout])
        reader.start()
        try:
            while not (found := re.search(r"serves \S+ at (\S+)", lines.get(timeout=PATIENCE_S))):
                pass
            yield found[1]
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            reader.join()


def test_the_codeless_wheel_holds_metadata_only(wheels):
    names = run(sys.executable, "-m", "zipfile", "-l", wheel_of(wheels, "mlxp-server"))
    files = [line.split()[0] for line in names.splitlines()[1:]]
    assert files
    assert all(".dist-info/" in name for name in files)


def test_typed_packages_say_so(wheels):
    for folder in [*OURS[1:], *STRANGERS]:
        assert "py.typed" in run(sys.executable, "-m", "zipfile", "-l", wheel_of(wheels, dist_of(folder)))


def dist_of(folder):
    return re.search(r'^name = "(.+)"$', (folder / "pyproject.toml").read_text(), re.MULTILINE)[1]


def test_every_plugin_is_listed(bare, tmp_path):
    listed = json.loads(run(bare / "mlxp", "plugins", "--json", cwd=tmp_path))
    states = {plugin["name"]: plugin["state"] for plugin in listed}
    expected = {
        "demo",
        "gemma4",
        "minicpm5",
        "native",
        "openai-chat",
        "qwen35",
        "openai-completions",
        "openai-embeddings",
        "curves",
        "requests",
        "tokens",
        "webui",
        "parrot",
        "plaintext",
        "gemma3",
    }
    assert expected <= set(states)
    assert set(states.values()) == {"on"}
    assert not any(plugin["warnings"] for plugin in listed)


def test_the_doctor_finds_nothing_wrong(bare, tmp_path):
    assert "wrong" not in run(bare / "mlxp", "doctor", cwd=tmp_path)


def test_the_bare_command_answers_a_chat(bare, tmp_path):
    with (
        serving(bare, None, tmp_path) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        answer = client.chat.completions.create(model="", messages=[{"role": "user", "content": "Hello"}])
        page = httpx.get(f"{url}/")
        script = re.search(r'src="(/webui/assets/[^"]+)"', page.text)[1]
        assert httpx.get(f"{url}{script}").status_code == 200  # what was built is in the wheel
    assert answer.model == "mlxp-demo"
    assert answer.choices[0].message.content.startswith("Hello!")


def test_a_strangers_model_answers_in_a_strangers_protocol(bare, tmp_path):
    config = {**sketch_config(), "model_type": "parrot", "hidden_size": WIDTH}
    shapes = dict.fromkeys(("embed_tokens.weight", "head.weight"), (LEAST_VOCABULARY, WIDTH))
    folder = write_sketch(tmp_path / "polly", config=config, shapes=shapes)
    with serving(bare, folder, tmp_path) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
        said = [
            client.post("/say", json={"text": "Hello", "max_tokens": 9, "stream": stream})
            for stream in (True, False)
        ]
        chat = client.post(
            "/v1/chat/completions",
            json={"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "temperature": 0},
        )
        wrong = client.post("/say", json={"text": ""})
    assert [answer.status_code for answer in said] == [200, 200]
    assert said[0].headers["content-type"].startswith("text/plain")
    assert said[1].text
    assert chat.json()["usage"]["completion_tokens"] <= 9
    assert (wrong.status_code, wrong.text.startswith("/say:")) == (400, True)


@pytest.mark.parametrize("stranger", STRANGERS, ids=lambda folder: folder.name)
def test_the_strangers_own_suites_are_green(bare, stranger, tmp_path):
    suite = shutil.copytree(
        stranger / "tests", tmp_path / "tests"
    )  # out of reach of this repository's settings
    run(bare / "python", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", suite, cwd=tmp_path)
