"""``mlxp bench`` and ``mlxp speeds``."""

from __future__ import annotations

import datetime as dt

import msgspec
import rich_click as click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mlxp_core.contracts import Workbench
from mlxp_lab.bench.speeds import FILE, Speed, Speeds
from mlxp_lab.lab import AskKinds, open_lab, site_of
from mlxp_lab.watching import exit_status, watched


def commands(kinds: AskKinds) -> list[click.Command]:
    """Return the commands; ``kinds`` asks plugins what jobs they bring."""
    return [_bench(kinds), speeds]


def _bench(kinds: AskKinds) -> click.Command:
    @click.command
    @click.argument("model")
    @click.option("--prompt-tokens", type=int, help="To read.  [default: 512]")
    @click.option("--tokens", type=int, help="To write.  [default: 128]")
    @click.option("--runs", type=int, help="Of which the median counts.  [default: 3]")
    @click.pass_obj
    @click.pass_context
    def bench(ctx: click.Context, workbench: Workbench, /, model: str, **given: object) -> None:
        """Measure how fast MODEL reads a prompt and writes an answer, and keep it."""
        lab = open_lab(site_of(workbench, workbench), kinds)
        asked = {name: value for name, value in given.items() if value is not None}
        done = watched(lab, lab.desk.submit("bench", {"model": model, **asked}).id, cancel=True)
        if done.result is not None:
            _show([msgspec.convert(done.result, Speed)])
        ctx.exit(exit_status(done))

    return bench


@click.command
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def speeds(workbench: Workbench, limit: int, as_json: bool) -> None:
    """List what was measured, newest first."""
    folder = site_of(workbench, workbench).folder
    found = Speeds(folder).newest(limit) if (folder / FILE).is_file() else []
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif found:
        _show(found)
    else:
        click.echo("nothing was measured yet; measure with: mlxp bench MODEL", err=True)


def _show(found: list[Speed]) -> None:
    table = Table(box=None)
    for name in ("when", "model", "machine", "prompt", "reads/s", "writes/s", "predicted", "peak GB"):
        table.add_column(name, justify="left" if name in {"when", "model", "machine"} else "right")
    for speed in found:
        when = dt.datetime.fromtimestamp(speed.measured_at / 1000).astimezone()
        predicted = speed.predicted_decode_tps
        table.add_row(
            f"{when:%Y-%m-%d %H:%M}",
            escape(speed.model),
            escape(speed.machine),
            str(speed.prompt_tokens),
            f"{speed.prefill_tps:,.0f}",
            f"{speed.decode_tps:,.1f}",
            "" if predicted is None else f"{predicted:,.1f}",
            f"{speed.peak_bytes / 1e9:.2f}",
        )
    Console().print(table)
