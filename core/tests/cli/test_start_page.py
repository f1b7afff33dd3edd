"""When a browser is opened."""

import io

import pytest

from mlxp_core.cli.start_page import wanted

SCREEN = {"DISPLAY": ":0"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("asked", [True, False])
def test_who_says_so_is_obeyed(asked):
    assert wanted(asked, {}, io.StringIO(), "linux") is asked
    assert wanted(asked, SCREEN, Terminal(), "linux") is asked


@pytest.mark.parametrize(
    ("environ", "output", "platform", "expected"),
    [
        (SCREEN, Terminal(), "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, Terminal(), "linux", True),
        ({}, Terminal(), "darwin", True),
        ({}, Terminal(), "linux", False),
        (SCREEN, io.StringIO(), "linux", False),
        (SCREEN | {"SSH_CONNECTION": "1"}, Terminal(), "linux", False),
        ({"SSH_CONNECTION": "1"}, Terminal(), "darwin", False),
        (SCREEN | {"CI": "true"}, Terminal(), "linux", False),
    ],
)
def test_else_only_somebody_before_this_machine_gets_one(environ, output, platform, expected):
    assert wanted(None, environ, output, platform) is expected
