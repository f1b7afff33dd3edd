"""Modules of which a rank holds a part, and what they answer together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol, cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_unflatten

from mlxp_core.contracts import Division


class Together(Protocol):
    """What parts meet in: a ``Group``."""

    @property
    def rank(self) -> int:
        """Return which one this is."""
        ...

    def sum(self, part: mx.array) -> mx.array:
        """Return the sum of all ranks' parts."""
        ...

    def gather(self, part: mx.array) -> mx.array:
        """Return all ranks' parts, side by side along the last axis."""
        ...


class Summed(nn.Module):
    """A module whose answer is the sum of what all ranks' parts answer."""

    def __init__(self, part: nn.Module, group: Together) -> None:
        """Sum over ``group``."""
        super().__init__()
        self.part = part
        self._group = group

    def __call__(self, *args: Any) -> mx.array:
        """Ask all parts."""
        return self._group.sum(self.part(*args))


class Table(nn.Module):
    """An embedding table, of which every rank holds as many rows as the others, in their order."""

    def __init__(self, part: nn.Module, group: Together) -> None:
        """Hold the rows of this rank."""
        super().__init__()
        self.part = part
        self._group = group
        self._rows: int = part["weight"].shape[0]

    def __call__(self, tokens: mx.array) -> mx.array:
        """Look tokens up, whoever has them: ``[..., dims]``."""
        own = tokens - self._group.rank * self._rows
        inside = (own >= 0) & (own < self._rows)
        found = self.part(mx.where(inside, own, 0))
        return self._group.sum(mx.where(inside[..., None], found, mx.zeros((), dtype=found.dtype)))

    def as_linear(self, x: mx.array) -> mx.array:
        """Score all tokens: ``[..., dims]`` to ``[..., vocabulary]``."""
        return self._group.gather(cast("Any", self.part).as_linear(x))


class Head(nn.Module):
    """A linear layer, of whose outputs every rank has as many as the others, in their order."""

    def __init__(self, part: nn.Module, group: Together) -> None:
        """Hold the outputs of this rank."""
        super().__init__()
        self.part = part
        self._group = group

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[..., inputs]`` to all outputs."""
        return self._group.gather(self.part(x))


def unite(model: nn.Module, division: Division, group: Together) -> None:
    """Have the modules of a rank's network answer together with those of the others.

    Args:
        model: the network, with its weights; changed.
        division: how it is divided.
        group: the ranks.
    """
    replaced: list[tuple[str, nn.Module]] = []
    for path, module in model.named_modules():
        if _is_one_of(path, division.sums):
            replaced.append((path, Summed(module, group)))
        elif _is_one_of(path, division.tables):
            together = Table if isinstance(module, nn.Embedding | nn.QuantizedEmbedding) else Head
            replaced.append((path, together(module, group)))
    model.update_modules(tree_unflatten(replaced))


def _is_one_of(path: str, endings: Collection[str]) -> bool:
    return any(f".{path}".endswith(f".{ending}") for ending in endings)
