"""``mlxp launch``: a coding agent against the server, with its settings in a folder that is thrown away."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import rich_click as click

from mlxp_core.cli.agents import AGENTS, Agent, Preparation, Target
from mlxp_core.cli.banner import url_of
from mlxp_core.cli.reach import Listed, Reached, reach, started
from mlxp_core.cli.selection import set_up_here
from mlxp_core.errors import SetupError
from mlxp_core.types import ServerSettings

NO_KEY = "none"
FOLDER_VARIABLE, SHOWN_KEY = "$AGENT_FOLDER", "$MLXP_KEY"
_DOLLAR = re.compile(r"\$(?!AGENT_FOLDER\b|MLXP_KEY\b)")


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name", type=click.Choice(list(AGENTS)), metavar=f"[{'|'.join(AGENTS)}]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--model", metavar="MODEL", help="Start a server with this model; it stops with the agent.")
@click.option("--url", metavar="URL", help="Where the server answers, in place of [server] host and port.")
@click.option("--key", metavar="KEY", help="The API key, in place of the first of [server] api_keys.")
@click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml.")
@click.option("--print", "only_print", is_flag=True, help="Print a shell script that does it; start nothing.")
@click.pass_context
def launch(  # one parameter an option
    ctx: click.Context,
    *,
    name: str,
    arguments: tuple[str, ...],
    model: str | None,
    url: str | None,
    key: str | None,
    config: str | None,
    only_print: bool,
) -> None:
    """Start a coding agent that uses the server. What follows the name is passed on: mlxp launch claude -- -p "Hello".

    What the agent keeps goes into a temporary folder, which is removed at the end.
    """
    agent = AGENTS[name]
    own_words = arguments[1:] if arguments[:1] == ("--",) else arguments
    settings = set_up_here({"plugins": {"skip_broken": True}}, config).settings.section(ServerSettings)
    where = url.rstrip("/") if url else url_of(settings.host, settings.port)
    secret = key or next(iter(settings.api_keys), None)
    if only_print:
        target = _target(_running(where, secret), agent, SHOWN_KEY if secret else NO_KEY, FOLDER_VARIABLE)
        click.echo(script(agent, agent.prepare(target), own_words, keyed=secret is not None))
        return
    program = _found(agent)
    with ExitStack() as last:
        folder = Path(last.enter_context(_passing_folder()))
        if model is not None:
            where = last.enter_context(started(model, config, folder / "server.log"))
        own = folder / name
        own.mkdir()
        target = _target(_running(where, secret), agent, secret or NO_KEY, str(own))
        status = run(program, agent.prepare(target), own_words, own, os.environ)
    ctx.exit(status)


def run(
    program: str,
    preparation: Preparation,
    arguments: tuple[str, ...],
    folder: Path,
    environ: Mapping[str, str],
) -> int:
    """Write the files, run the program to its end, and return its exit status.

    Args:
        program: its path.
        preparation: what makes it use the server.
        arguments: the user's own.
        folder: where the files go.
        environ: the environment to begin with.
    """
    for name, text in preparation.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    kept = {variable: text for variable, text in environ.items() if variable not in preparation.unset}
    command = [program, *preparation.arguments, *arguments]
    before = signal.signal(
        signal.SIGINT, lambda *_: None
    )  # Ctrl-C is the agent's; it ends when the agent does
    try:
        status = subprocess.run(command, env={**kept, **preparation.environment}, check=False).returncode  # noqa: S603  # asked for
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status  # as shells tell a signal


def script(agent: Agent, preparation: Preparation, arguments: tuple[str, ...], *, keyed: bool) -> str:
    """Return a shell script that does what launching does.

    Args:
        agent: what is started.
        preparation: for a folder called ``$AGENT_FOLDER`` and, if ``keyed``, a key called ``$MLXP_KEY``.
        arguments: the user's own.
        keyed: whether the server takes a key; it is asked for, never shown.
    """
    lines = ["set -e"]
    if keyed:
        lines.append(': "${MLXP_KEY:?set it to an API key of the server}"')
    lines += ["AGENT_FOLDER=$(mktemp -d)", "trap 'rm -rf \"$AGENT_FOLDER\"' EXIT"]
    for name, text in preparation.files.items():
        lines += [f'printf %s {_quoted(text)} > "$AGENT_FOLDER/{name}"']
    lines += [f"unset {variable}" for variable in preparation.unset]
    lines += [f"export {variable}={_quoted(text)}" for variable, text in preparation.environment.items()]
    words = [agent.program, *map(_quoted, (*preparation.arguments, *arguments))]
    return "\n".join([*lines, " ".join(words)])


def _quoted(text: str) -> str:
    """Quote for a shell, leaving our two variables alive."""
    dead = re.sub(r'([\\"`])', r"\\\1", text)
    return '"' + _DOLLAR.sub(r"\\$", dead) + '"'


def _passing_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for as long as a block lasts; what a child of the agent still writes then is no failure."""
    return tempfile.TemporaryDirectory(prefix="mlxp-launch-", ignore_cleanup_errors=True)


def _found(agent: Agent) -> str:
    program = shutil.which(agent.program)
    if program is None:
        raise SetupError(f"{agent.program} is not installed; install it with: {agent.install}")
    return program


def _running(url: str, key: str | None) -> Reached:
    server = reach(url, key)
    if server is None:
        raise SetupError(
            f"no server answers at {url}; start one with 'mlxp serve MODEL', name it with --url, or let --model MODEL "
            "start one"
        )
    return server


def _target(server: Reached, agent: Agent, key: str, folder: str) -> Target:
    if agent.asks not in server.endpoints:
        raise SetupError(
            f"{agent.program} needs {agent.asks}, and the server at {server.url} has no such path; switch its plugin on"
        )
    model: Listed = server.models[0]
    return Target(
        url=server.url,
        key=key,
        model=model.id,
        folder=folder,
        home=str(Path.home()),
        context=model.context_window,
        thinking=model.reasoning,
        vision=model.vision,
    )
