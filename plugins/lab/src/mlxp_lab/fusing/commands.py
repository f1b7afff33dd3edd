"""``mlxp fuse``."""

from __future__ import annotations

import rich_click as click

from mlxp_core.contracts import Workbench
from mlxp_lab.lab import AskKinds, open_lab, site_of
from mlxp_lab.watching import exit_status, watched


def command(kinds: AskKinds) -> click.Command:
    """Return the command; ``kinds`` asks plugins what jobs they bring."""

    @click.command
    @click.argument("model")
    @click.argument("adapters", nargs=-1, required=True)
    @click.option("-o", "--output", metavar="NAME", help="A name among the lab's models, or a folder.")
    @click.option("--replace", is_flag=True, help="Replace what is there.")
    @click.option("--weight", "weights", type=float, multiple=True, help="Of an adapter; one for each.")
    @click.option("--unpack", is_flag=True, help="Leave changed modules of a packed model plain.")
    @click.option("--dtype", help="Of changed modules that are plain.  [default: stored]")
    @click.option("--shard-bytes", type=int, help="Most bytes of a weight file.  [default: 5000000000]")
    @click.pass_obj
    @click.pass_context
    def fuse(ctx: click.Context, bench: Workbench, /, **given: object) -> None:
        """Make ADAPTERS part of MODEL's weights: a model of its own."""
        lab = open_lab(site_of(bench, bench), kinds)
        asked = {name: value for name, value in given.items() if value not in {None, ()}}
        done = watched(lab, lab.desk.submit("fuse", asked).id, cancel=True)
        status = exit_status(done)
        if status == 0:
            click.echo(f"serve it with: mlxp serve {done.output}")
        ctx.exit(status)

    return fuse
