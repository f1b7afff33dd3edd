"""All kinds of jobs, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pluggy

from mlxp_core.contracts import Settings
from mlxp_core.errors import NotFound, PluginError
from mlxp_lab.jobs.kind import JobKind

Kinds = Mapping[str, JobKind[Any]]


def gathered(manager: pluggy.PluginManager, settings: Settings) -> Kinds:
    """Return what plugins bring.

    Raises:
        PluginError: one of them brings something else, or two bring one name.
    """
    kinds: dict[str, JobKind[Any]] = {}
    for kind in _brought(manager, settings):
        if not isinstance(kind, JobKind):
            raise PluginError(f"mlxp_lab_jobs returned a {type(kind).__name__}, which is no JobKind")
        if kind.name in kinds:
            raise PluginError(f"two plugins bring jobs of kind {kind.name!r}; switch one off with --disable")
        kinds[kind.name] = kind
    return dict(sorted(kinds.items()))


def kind_named(name: str, kinds: Kinds) -> JobKind[Any]:
    """Return a kind.

    Raises:
        NotFound: nobody brings it.
    """
    if name not in kinds:
        raise NotFound(
            f"no plugin brings jobs of kind {name!r}; there are: {', '.join(kinds) or 'none'}", param="kind"
        )
    return kinds[name]


def _brought(manager: pluggy.PluginManager, settings: Settings) -> Iterator[object]:
    for answer in manager.hook.mlxp_lab_jobs(settings=settings):
        if not isinstance(answer, list | tuple):
            raise PluginError(f"mlxp_lab_jobs returned a {type(answer).__name__}, not a list of kinds")
        yield from answer
