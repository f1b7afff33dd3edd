"""``mlxp``: finds the command that was asked for and imports no other; plugins bring more commands."""

import logging
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import rich_click as click

from mlxp_core import __version__
from mlxp_core.cli.selection import plugin_flags, set_up_here
from mlxp_core.cli.workbench import Bench
from mlxp_core.errors import MlxpError, SetupError
from mlxp_core.plugins import Setup

COMMANDS = {
    "serve": "mlxp_core.cli.serve:serve",
    "launch": "mlxp_core.cli.launch:launch",
    "plugins": "mlxp_core.cli.plugins:plugins",
    "fit": "mlxp_core.cli.fit:fit",
    "top": "mlxp_core.cli.top:top",
    "replay": "mlxp_core.cli.replay:replay",
    "doctor": "mlxp_core.cli.doctor:doctor",
}
"""The core's own commands and where they are."""

_SETUP = "mlxp_core.cli.setup"


class Commands(click.RichGroup):
    """The core's commands and, when none of them was asked for, those of plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command; when plugins cannot be loaded, the core's, and why on standard error."""
        try:
            brought = [command.name or "" for command in _setup(ctx).registry.commands]
        except SetupError as error:
            click.echo(f"mlxp: commands of plugins are not listed: {error.message}", err=True)
            brought = []
        return [*COMMANDS, *brought]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; a plugin's gets a workbench by ``click.pass_obj``."""
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        setup = _setup(ctx)
        ctx.obj = Bench(setup)
        return next((command for command in setup.registry.commands if command.name == cmd_name), None)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of our tree becomes one message and exit status 1."""
        try:
            return super().invoke(ctx)
        except MlxpError as error:
            click.echo(f"mlxp: {error.message}", err=True)
            ctx.exit(1)


def _setup(ctx: click.Context) -> Setup:
    if _SETUP not in ctx.meta:
        ctx.meta[_SETUP] = set_up_here(plugin_flags((), (), skip_broken=True), None)
    setup: Setup = ctx.meta[_SETUP]
    return setup


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mlxp")
def mlxp() -> None:
    """Serve large language models on MLX."""


def run() -> None:
    """Run ``mlxp`` with the arguments of this process, and end the process.

    Python itself is not torn down. Where a thread has used MLX, the system runs MLX's last destructors in it after
    Python has seen it end; they ask for the GIL, and a Python before 3.13 that is being torn down answers by
    unwinding the thread through C++, which aborts the process.
    """
    try:
        mlxp(prog_name="mlxp")
    except SystemExit as end:
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # nobody reads any more
                stream.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)
