"""``mlxp dataset generate`` and ``mlxp dataset templates``."""

from __future__ import annotations

from pathlib import Path

import msgspec
import rich_click as click
from rich.console import Console
from rich.markup import escape

from mlxp_core.contracts import Workbench
from mlxp_lab.datasets.importing import read_file
from mlxp_lab.generating.templates import AskTemplates
from mlxp_lab.lab import AskKinds, open_lab, site_of
from mlxp_lab.watching import exit_status, watched

_OPTIONS = (
    click.option("-n", "--name", required=True, help="Of the dataset."),
    click.option(
        "-i",
        "--input",
        "inputs",
        multiple=True,
        metavar="FIELD=VALUE",
        help="A field of the template; FIELD=@FILE reads a file.",
    ),
    click.option("--model", help="Id of the model that writes.  [default: the server's]"),
    click.option("--server", metavar="URL", help="Where it is served.  [default: as in mlxp.toml]"),
    click.option("--seed", type=int, help="Of everything that is drawn.  [default: 0]"),
    click.option("--temperature", type=float, help="Of replies.  [default: 0.7]"),
    click.option("--max-tokens", type=int, help="Of a reply.  [default: 1024]"),
    click.option("--at-once", type=int, help="Tasks at the same time.  [default: 4]"),
    click.option("--shortest", type=int, help="Characters of an answer.  [default: 1]"),
    click.option("--near", type=float, help="How alike rows may not be.  [default: 0.8]"),
    click.option("--valid", type=float, help="Share to be watched with.  [default: 0.1]"),
    click.option("--test", type=float, help="Share to be tested with.  [default: 0]"),
    click.option("--replace", is_flag=True, default=None, help="Replace a dataset of that name."),
)


def commands(kinds: AskKinds, templates: AskTemplates) -> list[click.Command]:
    """Return the commands; ``kinds`` and ``templates`` ask plugins what they bring."""
    return [_generate(kinds), _listing(templates)]


def _generate(kinds: AskKinds) -> click.Command:
    @click.command
    @click.argument("template")
    @click.option("--detach", is_flag=True, help="Leave it to a running server.")
    @click.pass_obj
    @click.pass_context
    def generate(
        ctx: click.Context,
        bench: Workbench,
        /,
        template: str,
        inputs: tuple[str, ...],
        detach: bool,
        **given: object,
    ) -> None:
        """Make a dataset by TEMPLATE; mlxp dataset templates lists them.

        Nothing that a model writes is ever run.
        """
        lab = open_lab(site_of(bench, bench), kinds)
        asked = {name: value for name, value in given.items() if value is not None}
        job = lab.desk.submit("generate", {"template": template, "inputs": dict(map(_pair, inputs)), **asked})
        if detach:
            click.echo(f"{job.id} waits for a server, or for: mlxp jobs watch {job.id}")
            return
        done = watched(lab, job.id, cancel=True)
        if done.result is not None:
            click.echo(msgspec.json.format(msgspec.json.encode(done.result)).decode())
        ctx.exit(exit_status(done))

    for option in reversed(_OPTIONS):
        option(generate)
    return generate


def _listing(ask: AskTemplates) -> click.Command:
    @click.command
    def templates() -> None:
        """List the templates, and what each wants to know."""
        console = Console(highlight=False)
        for each in ask().values():
            model = ", by a served model" if each.needs_model else ""
            console.print(f"[bold]{escape(each.name)}[/] ({each.form} rows{model}): {escape(each.summary)}")
            for field in each.fields:
                usual = "needed" if field.required else f"default {field.default!r}"
                hint = f": {field.hint}" if field.hint else ""
                console.print(f"  {field.name}: {escape(f'{field.label}{hint}')} [dim]({escape(usual)})[/]")

    return templates


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise click.BadParameter("it must be FIELD=VALUE, or FIELD=@FILE", param_hint="--input")
    return name, read_file(Path(value[1:])).decode("utf-8", "replace") if value.startswith("@") else value
