"""How a family's network is divided among ranks: processes that compute one network together.

Every rank holds a network of its own, of the same classes and with fewer heads and narrower layers inside. What enters
a block and what leaves it is the same on all ranks; the parts of a layer's answer are summed behind it (Shoeybi et al.:
"Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism", 2019, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from mlxp_core.errors import UnsupportedModel

Axis = Literal["outputs", "inputs", "first"]


class Cut(Struct, frozen=True):
    """Along which axis the tensors of a module are cut; a rank takes its share of each run.

    Attributes:
        axis: ``outputs`` = the last but one of a matrix, as a linear layer stores it; ``inputs`` = the last; ``first``.
            What has one axis is cut along it. A bias beside ``inputs`` is the first rank's alone, as parts are summed.
        runs: lengths of what lies side by side along the axis, such as queries, keys and values; empty = one run.
        copies: so many ranks in a row hold the same share.
    """

    axis: Axis
    runs: tuple[int, ...] = ()
    copies: int = 1


class Division(Struct, frozen=True, kw_only=True):
    """One network in as many parts as there are ranks. Modules are named by the last components of their paths.

    Attributes:
        config: what ``ModelFamily.build`` makes the network of one rank from.
        cuts: module, or parameter outside of one, -> how it is cut; names are those before ``ModelFamily.convert``.
            What is not named is held whole by every rank.
        sums: modules whose answers are parts of a sum.
        tables: modules with a row for each token: embedding tables and heads. ``cuts`` has them, too.
    """

    config: Any
    cuts: Mapping[str, Cut]
    sums: tuple[str, ...]
    tables: tuple[str, ...] = ()


def share(count: int, ranks: int, what: str) -> int:
    """Return how many of ``count`` one rank gets.

    Raises:
        UnsupportedModel: they cannot be divided evenly; ``what`` names them.
    """
    if count % ranks:
        raise UnsupportedModel(f"{what} {count} cannot be divided among {ranks} ranks")
    return count // ranks


def kv_share(count: int, ranks: int, what: str) -> tuple[int, int]:
    """Return how many heads of keys and values one rank gets, and how many ranks share one; see ``Cut.copies``.

    Raises:
        UnsupportedModel: neither divides the other.
    """
    if count < ranks and ranks % count == 0:
        return 1, ranks // count
    return share(count, ranks, what), 1
