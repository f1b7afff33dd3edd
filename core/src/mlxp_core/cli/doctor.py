"""``mlxp doctor``: what this machine and this installation look like; exit status 1 when something is wrong."""

import subprocess
import sys
from importlib.metadata import distributions

import msgspec
import rich_click as click
from packaging.utils import canonicalize_name
from rich.console import Console
from rich.markup import escape

from mlxp_core import __version__
from mlxp_core.cli.checks import (
    Finding,
    MlxFacts,
    distribution_findings,
    mlx_findings,
    plugin_findings,
    python_finding,
)
from mlxp_core.cli.selection import plugin_flags, plugin_options, set_up_here
from mlxp_core.errors import SetupError

_MARKS = {"ok": "[green]ok[/]     ", "warning": "[yellow]warning[/]", "wrong": "[red]wrong[/]  "}
_PROBE_LIMIT_S = 120


@click.command
@plugin_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a finding.")
@click.pass_context
def doctor(
    ctx: click.Context, config: str | None, disable: tuple[str, ...], only: tuple[str, ...], as_json: bool
) -> None:
    """Check Python, MLX and its back end, the installation, the settings and the plugins."""
    installed: dict[str, str] = {
        canonicalize_name(dist.name): dist.version for dist in distributions() if dist.name
    }
    findings = [
        Finding("mlxp", "ok", __version__),
        python_finding(sys.version_info[:3]),
        *mlx_findings(_try_mlx(), installed, sys.platform),
        *distribution_findings(installed),
        *_setup_findings(config, disable, only),
    ]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings)).decode())
    else:
        console = Console()
        for finding in findings:
            text = f"{_MARKS[finding.level]} [bold]{finding.topic}[/]: {escape(finding.text)}"
            console.print(text, soft_wrap=True, highlight=False)
    ctx.exit(1 if any(finding.level == "wrong" for finding in findings) else 0)


def _try_mlx() -> MlxFacts:
    command = [sys.executable, "-m", "mlxp_core.cli.probe"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_PROBE_LIMIT_S)  # noqa: S603  # ours
    except subprocess.TimeoutExpired:
        return MlxFacts(error=f"it did not answer within {_PROBE_LIMIT_S} s")
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return MlxFacts(error=said[-1] if said else f"its process ended with status {done.returncode}")
    return msgspec.json.decode(done.stdout, type=MlxFacts)


def _setup_findings(config: str | None, disable: tuple[str, ...], only: tuple[str, ...]) -> list[Finding]:
    try:
        setup = set_up_here(plugin_flags(disable, only, skip_broken=True), config)
    except SetupError as error:
        return [Finding("settings", "wrong", error.message)]
    where = (
        str(setup.settings.path)
        if setup.settings.path
        else "no settings file; defaults, environment and flags"
    )
    return [Finding("settings", "ok", where), *plugin_findings(setup.registry.reports())]
