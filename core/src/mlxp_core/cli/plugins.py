"""``mlxp plugins``: what is installed, what it brings, what is on."""

from collections.abc import Mapping, Sequence

import msgspec
import rich_click as click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mlxp_core.cli.selection import plugin_flags, plugin_options, set_up_here
from mlxp_core.contracts import PluginReport

_COLOURS = {"on": "green", "off": "dim", "broken": "red"}


@click.command
@plugin_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a plugin.")
def plugins(config: str | None, disable: tuple[str, ...], only: tuple[str, ...], as_json: bool) -> None:
    """List the plugins: on, off or broken, and what they bring. Broken ones are listed, never refused."""
    setup = set_up_here(plugin_flags(disable, only, skip_broken=True), config)
    reports = setup.registry.reports()
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(reports)).decode())
        return
    console = Console()
    console.print(_table(reports))
    for report in reports:
        for text in (*((report.fault,) if report.fault else ()), *report.warnings):
            console.print(f"[bold]{escape(report.name)}[/]: {escape(text)}", soft_wrap=True)


def _table(reports: Sequence[PluginReport]) -> Table:
    table = Table("plugin", "state", "distribution", "version", box=None, header_style="bold")
    table.add_column("brings", overflow="fold")
    table.add_column("load", justify="right")
    table.add_column("faults", justify="right")
    for report in reports:
        colour = _COLOURS[report.state]
        table.add_row(
            escape(report.name),
            f"[{colour}]{report.state}[/]",
            escape(report.dist),
            escape(report.version),
            escape(_brings(report.brings)),
            f"{report.load_ms:.1f} ms",
            str(report.faults),
        )
    return table


def _brings(brings: Mapping[str, tuple[str, ...]]) -> str:
    return "\n".join(
        f"{kind.replace('_', ' ')}: {', '.join(names)}" for kind, names in sorted(brings.items())
    )
