"""Which plugins are installed: entry points of the group ``mlxp``, read from metadata without importing anything."""

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions

from msgspec import Struct
from packaging.utils import canonicalize_name

GROUP = "mlxp"
_FOLD = re.compile(r"\n[ \t]+")


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
    points = list(_points(text)) if text and GROUP in text else []
    if points:
        yield from _described(dist, points)


def _points(text: str) -> Iterator[EntryPoint]:
    """Read the lines ``name = module:attribute`` of our group; ``dist.entry_points`` would read the file again."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif group == GROUP and line and line[0] not in "#;":
            name, _, value = line.partition("=")
            yield EntryPoint(name.strip(), value.strip(), GROUP)


def _described(dist: Distribution, points: Sequence[EntryPoint]) -> Iterator[Candidate]:
    headers = _headers(dist.read_text("METADATA") or dist.read_text("PKG-INFO") or "")
    for point in points:
        yield Candidate(
            name=point.name,
            module=point.value,
            dist=headers.get("name", ["unnamed"])[0],
            version=headers.get("version", ["unknown"])[0],
            requires=tuple(headers.get("requires-dist", ())),
            load=point.load,
        )


def _headers(metadata: str) -> dict[str, list[str]]:
    """Read the lines before the first empty one; the rest is a whole README. A line that is indented continues."""
    head, _, _ = metadata.partition("\n\n")
    headers: dict[str, list[str]] = {}
    for line in _FOLD.sub(" ", head).splitlines():
        key, _, value = line.partition(":")
        headers.setdefault(key.lower(), []).append(value.strip())
    return headers
