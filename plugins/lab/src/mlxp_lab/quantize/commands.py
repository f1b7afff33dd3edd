"""``mlxp quantize``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import rich_click as click
from rich.console import Console
from rich.table import Table

from mlxp_core.contracts import Workbench
from mlxp_lab.lab import AskKinds, open_lab, site_of
from mlxp_lab.quantize.files import PAGE
from mlxp_lab.watching import exit_status, watched

if TYPE_CHECKING:
    from mlxp_lab.quantize.inspect import Inspection

_OPTIONS = (
    click.option("-o", "--output", metavar="NAME", help="A name among the lab's models, or a folder."),
    click.option("--replace", is_flag=True, help="Replace what is there."),
    click.option("--bits", type=int, help="Of each module.  [default: 4]"),
    click.option("--group-size", type=int, help="Numbers that share a scale.  [default: 64]"),
    click.option("--mode", help="affine, mxfp4, mxfp8 or nvfp4.  [default: affine]"),
    click.option("--target-bpw", type=float, help="Mean bits, scales included: modules get different ones."),
    click.option("--candidate-bits", metavar="B,B", help="Widths to choose from.  [default: 3,4,5,6,8]"),
    click.option("--kv-target", type=float, help="Mean bits of keys and values: write a kv_config.json."),
    click.option("--reference", help="source, or 8bit where memory is short.  [default: source]"),
    click.option("--calibration", metavar="FILE", help="Texts to measure with, as JSON lines."),
    click.option("--held-out", metavar="FILE", help="Texts for the report, as JSON lines."),
    click.option("--rows", type=int, help="Rows of tokens to measure with.  [default: 8]"),
    click.option("--row-tokens", type=int, help="Of each row.  [default: 256]"),
    click.option("--shard-bytes", type=int, help="Most bytes of a weight file.  [default: 5000000000]"),
    click.option("--report/--no-report", default=None, help="Say what was lost.  [default: report]"),
)


def command(kinds: AskKinds) -> click.Command:
    """Return the command; ``kinds`` asks plugins what jobs they bring."""

    @click.command
    @click.argument("model")
    @click.option("--inspect", "look", is_flag=True, help="Say what each way would cost; pack nothing.")
    @click.option("--json", "as_json", is_flag=True, help="With --inspect, print JSON.")
    @click.option("--detach", is_flag=True, help="Leave it to a running server.")
    @click.pass_obj
    @click.pass_context
    def quantize(
        ctx: click.Context,
        bench: Workbench,
        /,
        model: str,
        look: bool,
        as_json: bool,
        detach: bool,
        **given: object,
    ) -> None:
        """Pack MODEL into fewer bits: all modules alike, or, with --target-bpw, each by what it hurts."""
        site = site_of(bench, bench)
        if look:
            from mlxp_lab.quantize.inspect import inspect  # noqa: PLC0415  # the other commands need no model

            _show(inspect(model, site), as_json=as_json)
            return
        asked = {name: value for name, value in given.items() if value is not None}
        widths = asked.get("candidate_bits")
        if isinstance(widths, str):
            asked["candidate_bits"] = _numbers(widths)
        lab = open_lab(site, kinds)
        job = lab.desk.submit("quantize", {"model": model, **asked})
        if detach:
            click.echo(f"{job.id} waits for a server, or for: mlxp jobs watch {job.id}")
            return
        done = watched(lab, job.id, cancel=True)
        status = exit_status(done)
        if status == 0 and done.output:
            click.echo(f"serve it with: mlxp serve {done.output}\nwhat was lost: {done.output}/{PAGE}")
        ctx.exit(status)

    for option in reversed(_OPTIONS):
        option(quantize)
    return quantize


def _numbers(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.strip().isdigit() for word in words):
        raise click.BadParameter(
            f"{text!r} is no list of numbers, such as 3,4,8", param_hint="--candidate-bits"
        )
    return [int(word) for word in words]


def _show(found: Inspection, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return
    console = Console(highlight=False)
    packed = "; packed already, so what is lost is lost on top" if found.packed else ""
    console.print(
        f"[bold]{found.model}[/], {found.family}: {found.size_bytes / 1e9:.2f} GB, {found.modules} modules with "
        f"{found.weights / 1e9:.2f} billion numbers{packed}"
    )
    table = Table(box=None)
    for name in ("way", "bits", "GB", "saved", "fits"):
        table.add_column(name, justify="left" if name == "way" else "right")
    for offer in found.offers:
        fits = {None: "", True: "yes", False: "no"}[offer.fits]
        size = f"{offer.size_bytes / 1e9:.2f}"
        table.add_row(offer.label, f"{offer.bits_per_weight:.2f}", size, f"{offer.saved:.0%}", fits)
    console.print(table)
