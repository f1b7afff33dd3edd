"""Which plugins are installed: entry points of the group ``mlxp``, read from metadata without importing anything."""

import re
from collections.abc import Callable, Iterator, Sequence
from email import message_from_string
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions

from msgspec import Struct
from packaging.utils import canonicalize_name

GROUP = "mlxp"
_SECTION = re.compile(rf"^\s*\[\s*{GROUP}\s*\]", re.MULTILINE)


class Candidate(Struct, frozen=True, kw_only=True):
    """A plugin that could be loaded.

    Attributes:
        name: what ``--disable`` takes.
        module: where its code is, as its entry point says.
        dist, version: the distribution it comes from; empty for one handed over by the caller.
        requires: that distribution's requirements; ``None`` where there is no distribution to have any.
        load: imports it.
    """

    name: str
    module: str
    load: Callable[[], object]
    dist: str = ""
    version: str = ""
    requires: tuple[str, ...] | None = None

    @property
    def origin(self) -> str:
        """Say in messages where it comes from."""
        return f"{self.dist} {self.version}" if self.dist else "handed over by the caller"


def discover(path: Sequence[str] | None = None) -> tuple[Candidate, ...]:
    """Return the plugins of all distributions, ordered by distribution and name.

    Args:
        path: folders to search in place of ``sys.path``.
    """
    found = distributions() if path is None else distributions(path=list(path))
    first: dict[str, list[Candidate]] = {}
    for dist in found:
        if candidates := list(_candidates(dist)):
            first.setdefault(canonicalize_name(candidates[0].dist), candidates)  # later copies are shadowed
    return tuple(
        candidate
        for dist in sorted(first)
        for candidate in sorted(first[dist], key=lambda candidate: candidate.name)
    )


def given(name: str, plugin: object) -> Candidate:
    """Return a candidate for a module or object that is at hand."""
    module = getattr(plugin, "__name__", type(plugin).__qualname__)
    return Candidate(name=name, module=module, load=lambda: plugin)


def built_in(name: str, module: str, version: str) -> Candidate:
    """Return a candidate for a plugin inside the core."""
    return Candidate(
        name=name, module=module, dist="mlxp-core", version=version, load=lambda: import_module(module)
    )


def _candidates(dist: Distribution) -> Iterator[Candidate]:
    text = dist.read_text("entry_points.txt")
    # Nearly all distributions fail this glance; a regular expression costs less than parsing every file.
    if text is None or not _SECTION.search(text):
        return
    points = [point for point in dist.entry_points if point.group == GROUP]
    if points:
        yield from _described(dist, points)


def _described(dist: Distribution, points: Sequence[EntryPoint]) -> Iterator[Candidate]:
    # Only the headers are parsed: the body is a whole README.
    headers, _, _ = (dist.read_text("METADATA") or dist.read_text("PKG-INFO") or "").partition("\n\n")
    metadata = message_from_string(headers)
    for point in points:
        yield Candidate(
            name=point.name,
            module=point.value,
            dist=metadata.get("Name", "unnamed"),
            version=metadata.get("Version", "unknown"),
            requires=tuple(metadata.get_all("Requires-Dist", [])),
            load=point.load,
        )
