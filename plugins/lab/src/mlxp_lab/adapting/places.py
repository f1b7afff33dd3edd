"""Where adapters are: names among the lab's own, or folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlxp_core.errors import MlxpError
from mlxp_core.workshop import AdapterFolder, open_adapter
from mlxp_lab.jobs import BadParameters, Site


def find_adapter(ref: str, site: Site) -> AdapterFolder:
    """Return what is meant by the name of one of the lab's adapters, or by a folder.

    Raises:
        BadParameters: there is no such adapter, or it cannot be used.
    """
    try:
        given = Path(ref).expanduser()
        own = site.adapters / given
        return open_adapter(own if given.name == ref and own.is_dir() else given.resolve())
    except MlxpError as error:
        raise BadParameters(f"{ref}: {error.message}", param="adapters") from error
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such user, a character 0
        raise BadParameters(f"{ref[:200]!r} is no adapter: {error}", param="adapters") from error


def weights_of(weights: Sequence[float] | None, adapters: Sequence[str]) -> tuple[float, ...]:
    """Return how much each adapter counts: 1, where nothing is said.

    Raises:
        BadParameters: there are not as many as adapters.
    """
    if weights is None:
        return (1.0,) * len(adapters)
    if len(weights) != len(adapters):
        raise BadParameters(
            f"there are {len(adapters)} adapters and {len(weights)} weights; give one for each",
            param="weights",
        )
    return tuple(weights)
