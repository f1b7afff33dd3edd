"""``mlxp push``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import msgspec
import rich_click as click

from mlxp_core.contracts import Workbench
from mlxp_core.errors import SetupError
from mlxp_hub.parcel import KINDS, Kind, packed
from mlxp_hub.refs import required
from mlxp_hub.settings import HubSettings


@click.command
@click.argument("source")
@click.argument("repo")
@click.option("--kind", type=click.Choice(KINDS), help="What SOURCE is, where several things have its name.")
@click.option("--private/--public", default=True, show_default=True, help="Who may see it.")
@click.option("-m", "--message", default="Upload with mlxp", show_default=True, help="Words of the commit.")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
@click.pass_obj
def push(bench: Workbench, /, source: str, repo: str, kind: Kind | None, **given: bool | str) -> None:
    """Push SOURCE to the Hugging Face hub as REPO (owner/name).

    SOURCE is a folder with a model, an adapter or a dataset, or the name of one that is here. What broke off is gone
    on with by the same command.
    """
    from mlxp_hub.display import pushing  # noqa: PLC0415  # not before it is asked for
    from mlxp_hub.pushing import pushed  # noqa: PLC0415  # as above
    from mlxp_hub.sending import Push  # noqa: PLC0415  # as above

    if required(repo).repo != repo:
        raise SetupError(f"{repo!r} names no repository; it must be owner/name")
    parcel = packed(_found(bench, source, kind))
    as_json = given.pop("as_json")
    asked = msgspec.convert({"repo": repo, **given}, Push)
    with pushing(repo) as told:
        sent = pushed(parcel, asked, bench.section(HubSettings), told, lambda: None)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(sent)).decode())
    else:
        click.echo(f"{sent.files} files, {sent.size_bytes / 1e6:,.1f} MB, are at {sent.url}")


def _found(bench: Workbench, source: str, kind: Kind | None) -> Path:
    """Return the folder that is meant: at a path, among what the lab has made, or a model."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if find_spec("mlxp_lab") is not None:
        from mlxp_hub.lab import made  # noqa: PLC0415  # there may be no lab

        there = made(source, kind, bench)
        if there is not None:
            return there
    return bench.find(source)
