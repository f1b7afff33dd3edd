"""``mlxp dataset``: import, list, show, inspect, split, clean, remove."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import rich_click as click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mlxp_core.contracts import Workbench
from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.bodies import ImportRequest
from mlxp_lab.datasets.cleaning import clean
from mlxp_lab.datasets.editing import page
from mlxp_lab.datasets.importing import import_into, read_file
from mlxp_lab.datasets.inspect import Inspection, inspect
from mlxp_lab.datasets.shelf import SPLITS, Card, Shelf, card_of, split_file
from mlxp_lab.datasets.sieve import Limits
from mlxp_lab.datasets.splitting import split_anew
from mlxp_lab.datasets.tables import SUFFIXES
from mlxp_lab.datasets.twins import LEAST
from mlxp_lab.lab import site_of

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_VALID = click.option("--valid", type=float, default=0.1, show_default=True, help="Share to be watched with.")
_TEST = click.option("--test", type=float, default=0.0, show_default=True, help="Share to be tested with.")
_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Decides which rows those are.")


def command(further: Sequence[click.Command]) -> click.Command:
    """Return the command, with further commands below it."""

    @click.group
    def dataset() -> None:
        """Import datasets, look into them, split them, have a model write them."""

    for each in (import_, list_, show, inspect_, split, clean_, rm, *further):
        dataset.add_command(each)
    return dataset


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-n", "--name", help="Of the dataset.  [default: the file's]")
@click.option(
    "--format",
    "kind",
    type=click.Choice(sorted(set(SUFFIXES.values()))),
    help="Of the file.  [default: by its name]",
)
@click.option(
    "-c",
    "--column",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Where a field of rows comes from, as prompt=question.",
)
@click.option("--skip-faulty", is_flag=True, help="Leave out what is no row.")
@click.option("--replace", is_flag=True, help="Replace one of that name.")
@click.option("--valid", type=float, default=0.0, show_default=True, help="Share to be watched with.")
@_TEST
@_SEED
@click.pass_obj
def import_(
    bench: Workbench,
    /,
    file: Path,
    name: str | None,
    kind: str | None,
    columns: tuple[str, ...],
    **given: object,
) -> None:
    """Make a dataset of FILE: JSON lines, a JSON list, CSV, or Parquet."""
    told = {
        "name": file.stem if name is None else name,
        "format": kind,
        "source": file.name,
        "columns": _pairs(columns),
    }
    asked = msgspec.convert({**told, **given}, ImportRequest)
    _say(import_into(_shelf(bench), read_file(file), asked))


@click.command("list")
@_JSON
@click.pass_obj
def list_(bench: Workbench, as_json: bool) -> None:
    """List the datasets, newest first."""
    found = _shelf(bench).cards()
    if as_json:
        _print_json(found)
    elif found:
        table = Table(box=None)
        for name in ("dataset", "form", *SPLITS, "kB", "from"):
            table.add_column(name, justify="left" if name in {"dataset", "form", "from"} else "right")
        for card in found:
            rows = (str(card.splits.get(split, "")) for split in SPLITS)
            size = f"{card.size_bytes / 1000:,.0f}"
            source = card.origin.template or card.origin.source
            table.add_row(escape(card.name), card.form or "", *rows, size, escape(source))
        Console().print(table)
    else:
        click.echo("no datasets yet; make one with: mlxp dataset import FILE", err=True)


@click.command
@click.argument("name")
@click.option(
    "--split", "which", type=click.Choice(SPLITS), default="train", show_default=True, help="Which rows."
)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True, help="How many to leave out.")
@click.option("--limit", type=click.IntRange(0), default=10, show_default=True, help="How many.")
@click.pass_obj
def show(bench: Workbench, name: str, which: str, offset: int, limit: int) -> None:
    """Print rows of the dataset NAME, a line each."""
    place = _shelf(bench).find(name)
    path = split_file(place, next(split for split in SPLITS if split == which))
    if path is None:
        raise BadRequest(f"{name} has no {which} rows")
    for row in page(path, offset, limit).rows:
        click.echo(row.text if row.row is None else msgspec.json.encode(row.row).decode())


@click.command("inspect")
@click.argument("name")
@_JSON
@click.pass_obj
@click.pass_context
def inspect_(ctx: click.Context, bench: Workbench, name: str, as_json: bool) -> None:
    """Say what the dataset NAME is, and what is wrong with it; a folder or a file will do, too.

    The exit status is 0 where it can be learned from as it is.
    """
    found = inspect(_shelf(bench).find(name))
    if as_json:
        _print_json(found)
    else:
        _show(found)
    ctx.exit(0 if found.good else 1)


@click.command
@click.argument("name")
@_VALID
@_TEST
@_SEED
@click.pass_obj
def split(bench: Workbench, name: str, valid: float, test: float, seed: int) -> None:
    """Deal the rows of the dataset NAME out anew; rows that say the same stay together."""
    _say(split_anew(_shelf(bench).get(name), valid=valid, test=test, seed=seed))


@click.command("clean")
@click.argument("name")
@click.option(
    "--near",
    type=click.FloatRange(LEAST, 1),
    default=0.8,
    show_default=True,
    help="How alike rows may not be.",
)
@click.option(
    "--shortest", type=click.IntRange(0), default=1, show_default=True, help="Characters of an answer."
)
@click.option("--dry-run", is_flag=True, help="Only say which rows would go.")
@click.pass_obj
def clean_(bench: Workbench, name: str, near: float, shortest: int, dry_run: bool) -> None:
    """Leave faulty lines, near-duplicates and answers of no use out of the dataset NAME."""
    found = clean(_shelf(bench).get(name), Limits(shortest=shortest, near=near), really=not dry_run)
    for remark in found.remarks:
        click.echo(f"{remark.split}, line {remark.line}: {remark.why}", err=True)
    for why, count in found.dropped.items():
        click.echo(f"{count} rows: {why}")
    _say(found.card)


@click.command
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def rm(bench: Workbench, name: str, yes: bool) -> None:
    """Remove the dataset NAME."""
    card = card_of(_shelf(bench).get(name))
    if not yes:
        click.confirm(f"remove {name} with its {sum(card.splits.values())} rows?", abort=True)
    _shelf(bench).remove(name)


def _shelf(bench: Workbench) -> Shelf:
    return Shelf(site_of(bench, bench).datasets)


def _pairs(columns: tuple[str, ...]) -> dict[str, str]:
    if not all("=" in column for column in columns):
        raise click.BadParameter("it must be FIELD=COLUMN, as prompt=question", param_hint="--column")
    return dict(column.split("=", 1) for column in columns)


def _say(card: Card) -> None:
    rows = ", ".join(f"{count} {split}" for split, count in card.splits.items())
    click.echo(f"{card.name}: {card.form} rows: {rows}")


def _show(found: Inspection) -> None:
    for each in found.splits:
        lengths = each.characters
        size = (
            ""
            if lengths is None
            else f", {lengths.least} to {lengths.most} characters, half below {lengths.median}"
        )
        click.echo(f"{each.split}: {each.rows} {each.form or 'good'} rows{size}")
        for count, what in ((each.duplicates, "rows that are there already"), (each.faulty, "faulty lines")):
            if count:
                click.echo(f"  {count} {what}")
        for remark in each.faults:
            click.echo(f"  line {remark.line}: {remark.message}")
        for remark in each.warnings:
            click.echo(f"  line {remark.line}, a warning: {remark.message}")
    if found.shared:
        click.echo(f"{found.shared} rows are in two splits, so what is measured with them is memory")


def _print_json(value: object) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())
