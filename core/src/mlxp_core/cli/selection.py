"""The options that every command about plugins takes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

from mlxp_core.plugins import Flags, Setup, set_up

F = TypeVar("F", bound=Callable[..., Any])


def plugin_options(command: F) -> F:
    """Add ``--config``, ``--disable`` and ``--only``; the command takes ``config``, ``disable`` and ``only``."""
    for option in (
        click.option(
            "--only", multiple=True, metavar="NAME", help="Switch off every plugin but this; repeatable."
        ),
        click.option("--disable", multiple=True, metavar="NAME", help="Switch a plugin off; repeatable."),
        click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml."),
    ):
        command = option(command)
    return command


def plugin_flags(disable: tuple[str, ...], only: tuple[str, ...], skip_broken: bool | None) -> Flags:
    """Return what those options say, as flags of the settings; ``None`` leaves ``skip_broken`` to weaker layers."""
    return {"plugins": {"disable": disable, "only": only, "skip_broken": skip_broken}}


def set_up_here(flags: Flags, config: str | None, *, commands: bool = True) -> Setup:
    """Set up with this process's environment, working directory and home; ``commands`` as in ``set_up``.

    Raises:
        SetupError: a setting or a plugin is wrong.
    """
    here, home = Path.cwd(), Path.home()
    return set_up(flags, config=config, environ=os.environ, here=here, home=home, commands=commands)
