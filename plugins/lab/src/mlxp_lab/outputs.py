"""Where what a job makes may go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlxp_lab.jobs import BadParameters, Site

MARKS = ("config.json", "adapter_config.json")
"""One of these is in every folder of a model or an adapter."""


def output_place(name: str, home: Path, site: Site, *, replace: bool, reads: Sequence[Path]) -> Path:
    """Return where something goes that is to be made: a name is a folder in ``home``, anything else a path.

    Args:
        name: what was asked for.
        home: where names are.
        site: where the lab is; what holds its folders is not replaced.
        replace: whether a folder that is there may be replaced.
        reads: what the job reads, which is not replaced either.

    Raises:
        BadParameters: it is no place, or something is there that may not be replaced.
    """
    try:
        place = _place(name, home)
        held = _held(place, (*reads, site.datasets, site.adapters, site.made_models, Path.home(), Path.cwd()))
        there, folder = place.exists(), place.is_dir()
        foreign = folder and not _ours(place)
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such user, a character 0
        raise BadParameters(f"{name[:200]!r} is no place for an output: {error}", param="output") from error
    if there and not replace:
        raise BadParameters(
            f"{place} is there already; choose another output, or say replace", param="output"
        )
    if there and not folder:
        raise BadParameters(f"{place} is no folder; choose another output", param="output")
    if there and held is not None:
        raise BadParameters(
            f"{place} cannot be replaced, as {held} is in it; choose another output", param="output"
        )
    if foreign:
        raise BadParameters(
            f"{place} holds neither a model nor an adapter, so it is not replaced; choose another output",
            param="output",
        )
    return place


def _place(name: str, home: Path) -> Path:
    if name in {"", ".."}:
        raise ValueError("it must be a name or a folder")
    given = Path(name).expanduser()
    return home / given if given.name == name else given.resolve()


def _ours(folder: Path) -> bool:
    """Say whether a folder looks like what jobs make, or holds nothing."""
    return not any(folder.iterdir()) or any((folder / name).is_file() for name in MARKS)


def _held(place: Path, kept: Sequence[Path]) -> Path | None:
    """Return the first of those paths that would go with a folder."""
    own = place.resolve()
    return next((path for path in kept if path.resolve().is_relative_to(own)), None)
