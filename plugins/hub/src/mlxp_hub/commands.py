"""``mlxp get``, ``mlxp models`` and ``mlxp rm``."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import rich_click as click
from msgspec import Struct
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mlxp_core.contracts import Workbench
from mlxp_core.errors import SetupError
from mlxp_core.types import Appraisal
from mlxp_hub.library import Downloaded, current, downloaded, find
from mlxp_hub.refs import MAIN, Ref, parse, required
from mlxp_hub.settings import STARTER, HubSettings, cache_folder


class Row(Struct, frozen=True, kw_only=True):
    """One model, as ``mlxp models --json`` prints it.

    Attributes:
        family: who claims it; null = it cannot be served, and ``fault`` says why.
        fits: whether it fits this machine; null = not known.
        max_context: longest sequence in tokens that fits; null = not known.
    """

    repo: str
    commit: str
    refs: tuple[str, ...]
    path: str
    model_type: str
    size_bytes: int
    bits: int | None
    group_size: int | None
    family: str | None
    fault: str | None
    vision: bool
    fits: bool | None
    max_context: int | None


@click.command
@click.argument("ref")
@click.option("--revision", metavar="REV", help="A branch, a tag or a commit, in place of main.")
@click.option("--verify", is_flag=True, help="Hash the files that are here already, too.")
@click.pass_obj
def get(bench: Workbench, ref: str, revision: str | None, verify: bool) -> None:
    """Fetch the model REF (owner/name) from the Hugging Face hub, or go on with it.

    Only what a server reads is fetched. What broke off is gone on with; a model that is here already is brought up to
    date. REF may be a part of the name of a model that is here.
    """
    from mlxp_hub.resolve import fetch  # noqa: PLC0415  # not before it is asked for

    settings = bench.section(HubSettings)
    meant = _meant(ref, settings)
    if revision is not None:
        meant = Ref(meant.repo, revision)
    path = fetch(meant, settings, verify=verify)
    told = bench.appraise(path)
    click.echo(f"{meant} is in {path}")
    if told.fault is None:
        click.echo(f"serve it with: mlxp serve {meant}")
    else:
        click.echo(f"it cannot be served as things are: {told.fault}", err=True)


@click.command
@click.argument("query", required=False, default="")
@click.option(
    "--all", "every", is_flag=True, help="List every revision, not only the current one of each model."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a model.")
@click.pass_obj
def models(bench: Workbench, query: str, every: bool, as_json: bool) -> None:
    """List the downloaded models, or those whose name or type holds QUERY."""
    cache = cache_folder(bench.section(HubSettings))
    found = downloaded(cache)
    kept = [
        model
        for model in (found if every else current(found))
        if query.lower() in model.repo.lower() or query.lower() in model.model_type.lower()
    ]
    rows = [_row(model, bench.appraise(model.path)) for model in kept]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows)).decode())
    elif rows:
        Console().print(_table(rows, every=every))
    else:
        click.echo(f"no model in {cache}; fetch one with: mlxp get {STARTER}", err=True)


@click.command
@click.argument("ref")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def rm(bench: Workbench, ref: str, yes: bool) -> None:
    """Remove the model REF from the disk: all of it, or one revision (owner/name@revision)."""
    from mlxp_hub.remove import removable, remove  # noqa: PLC0415  # not before it is asked for

    cache = cache_folder(bench.section(HubSettings))
    model = find(ref, downloaded(cache))
    asked = parse(ref)
    repo = model.repo if model is not None else asked.repo if asked is not None else ref
    one = None if model is None or asked is None or asked.revision == MAIN else model.commit
    found = removable(cache, repo, one)
    if found is None or (model is None and asked is not None and asked.revision != MAIN):
        raise SetupError(f"no model {ref!r} in {cache}; see: mlxp models --all")
    what = repo if one is None else f"{repo} in revision {one}"
    if not yes:
        click.confirm(f"remove {what} ({found.freed_bytes / 1e9:.2f} GB)?", abort=True)
    remove(cache, found)
    click.echo(f"removed {what}; {found.freed_bytes / 1e9:.2f} GB are free again")


def _meant(text: str, settings: HubSettings) -> Ref:
    ref = parse(text)
    if ref is not None:
        return ref
    model = find(text, downloaded(cache_folder(settings)))
    return Ref(model.repo) if model is not None else required(text)


def _row(model: Downloaded, told: Appraisal) -> Row:
    return Row(
        repo=model.repo,
        commit=model.commit,
        refs=model.refs,
        path=str(model.path),
        model_type=model.model_type,
        size_bytes=model.size_bytes,
        bits=model.bits,
        group_size=model.group_size,
        family=told.family,
        fault=told.fault,
        vision=told.vision,
        fits=None if told.fit is None else told.fit.fits,
        max_context=None if told.fit is None else told.fit.max_safe_context,
    )


def _table(rows: Sequence[Row], *, every: bool) -> Table:
    known = any(row.fits is not None for row in rows)
    table = Table("model", box=None, header_style="bold")
    table.add_column("size", justify="right")
    for name in (
        "weights",
        "family",
        "sees",
        *(("fits",) if known else ()),
        *(("revision",) if every else ()),
    ):
        table.add_column(name)
    for row in rows:
        family = escape(row.family) if row.family else f"[dim]none for {escape(row.model_type) or 'it'}[/]"
        table.add_row(
            escape(row.repo),
            f"{row.size_bytes / 1e9:.2f} GB",
            "full" if row.bits is None else f"{row.bits}-bit g{row.group_size}",
            family,
            "yes" if row.vision else "",
            *((_fits(row),) if known else ()),
            *((escape(", ".join(row.refs) or row.commit[:12]),) if every else ()),
        )
    return table


def _fits(row: Row) -> str:
    if row.fits is None:
        return ""
    return f"up to {row.max_context:,} tokens" if row.fits else "[red]no[/]"
