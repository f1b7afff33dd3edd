"""``mlxp merge``."""

from __future__ import annotations

import rich_click as click

from mlxp_core.contracts import Workbench
from mlxp_lab.lab import AskKinds, open_lab, site_of
from mlxp_lab.watching import exit_status, watched


def command(kinds: AskKinds) -> click.Command:
    """Return the command; ``kinds`` asks plugins what jobs they bring."""

    @click.command
    @click.argument("adapters", nargs=-1, required=True)
    @click.option(
        "-o", "--output", metavar="NAME", required=True, help="A name among the adapters, or a folder."
    )
    @click.option("--replace", is_flag=True, help="Replace what is there.")
    @click.option("--weight", "weights", type=float, multiple=True, help="Of an adapter; one for each.")
    @click.option("--format", help="mlx or peft.  [default: mlx]")
    @click.option("--model", help="The base; for peft, where the adapters' names leave open what it is.")
    @click.pass_obj
    @click.pass_context
    def merge(ctx: click.Context, bench: Workbench, /, **given: object) -> None:
        """Make one adapter of ADAPTERS; of a single one, write it in another form."""
        lab = open_lab(site_of(bench, bench), kinds)
        asked = {name: value for name, value in given.items() if value not in {None, ()}}
        ctx.exit(exit_status(watched(lab, lab.desk.submit("merge", asked).id, cancel=True)))

    return merge
