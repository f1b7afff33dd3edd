"""``mlxp serve`` opens the page, and leaves nothing of it where the plugin is off."""

import os
import re
import subprocess
import sys

import pytest

from mlxp_core.testing.client import serve
from mlxp_webui.plugin import WebUI

COMMAND = (sys.executable, "-c", "from mlxp_core.cli.main import run; run()", "serve", "--port", "0")


@pytest.mark.parametrize(
    ("flags", "opened"), [(["--open"], True), ([], False), (["--open", "--disable", "webui"], False)]
)
def test_the_command_opens_the_page_where_it_is_asked_to(tmp_path, flags, opened):
    note = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {note}\n')
    browser.chmod(0o755)
    environ = {
        **os.environ,
        "BROWSER": str(browser),
        "PYTHONUNBUFFERED": "1",
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
        "HF_HUB_CACHE": str(tmp_path / "hub"),
    }
    with subprocess.Popen(
        [*COMMAND, *flags],
        env=environ,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("ready"):
                break
        process.terminate()
        process.stdout.read()
        process.wait(30)
    told = re.search(r"in a browser: (\S+)", "".join(lines))
    assert (told is None) == ("--disable" in flags), lines
    assert note.exists() is opened
    if opened:
        assert note.read_text().strip() == told[1]


def test_without_the_plugin_there_is_nothing_at_the_start():
    with serve([], ()) as served:
        assert served.client.get("/").status_code == 404
        assert served.client.get("/webui/pages").status_code == 404
    with serve([], (), plugins=[("webui", WebUI)]) as served:
        assert served.client.get("/").status_code == 200
