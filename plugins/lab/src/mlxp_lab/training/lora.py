"""Low-rank terms that are learned: a frozen linear layer with two small matrices beside it.

``y = linear(x) + scale ((x A) B)``, with ``A``, ``[inputs, rank]``, uniform in ``+- 1 / sqrt(inputs)`` and ``B``,
``[rank, outputs]``, zero (Hu et al.: "LoRA", 2021). So a network begins as its base. What falls to dropout follows from
a seed, the step and the module alone: a step computed again, by a resumed run or in place of activations that were not
kept, drops the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten, tree_unflatten
from msgspec import Struct

from mlxp_core.errors import MlxpError

BLOCKS = ".layers."
"""What stands before the number of a block in a module's path."""

Numbers = dict[str, mx.array]
"""Arrays by the path of a parameter."""


class Recipe(Struct, frozen=True, kw_only=True):
    """How terms are made.

    Attributes:
        rank: of every term.
        scale: what terms are multiplied by.
        dropout: share of the inputs that terms do not see while they learn.
        seed: of their beginnings.
    """

    rank: int
    scale: float
    dropout: float
    seed: int


class Chance:
    """What all terms of a network share: whether they count, and the step whose dropout is drawn."""

    def __init__(self) -> None:
        """Let terms count, and drop nothing."""
        self.counts = True
        self.draw: str | None = None


class LoraLinear(nn.Module):
    """A linear layer, plain or packed, and its term."""

    def __init__(self, linear: nn.Module, path: str, recipe: Recipe, chance: Chance) -> None:
        """Stand in front of ``linear``, which is at ``path`` in its network."""
        super().__init__()
        self.linear = linear
        inputs, outputs = dims(linear)
        bound, key = inputs**-0.5, mx.random.key(_seed(f"{recipe.seed}/{path}"))
        self.lora_a = mx.random.uniform(-bound, bound, (inputs, recipe.rank), key=key)
        self.lora_b = mx.zeros((recipe.rank, outputs))
        self._path, self._recipe, self._chance = path, recipe, chance

    def __call__(self, x: mx.array) -> mx.array:
        """Map ``[..., inputs]`` to ``[..., outputs]``."""
        y: mx.array = self.linear(x)
        if not self._chance.counts:
            return y
        term = (self._kept(x) @ self.lora_a) @ self.lora_b
        return y + (self._recipe.scale * term).astype(y.dtype)

    def _kept(self, x: mx.array) -> mx.array:
        """Return ``x`` with a share of it dropped, and the rest larger to make up for it."""
        rate, draw = self._recipe.dropout, self._chance.draw
        if draw is None or rate == 0:
            return x
        kept = mx.random.bernoulli(1 - rate, x.shape, key=mx.random.key(_seed(f"{draw}/{self._path}")))
        return mx.where(kept, x * (1 / (1 - rate)), 0).astype(x.dtype)


def attach(network: nn.Module, paths: Sequence[str], recipe: Recipe) -> Chance:
    """Freeze a network, and give the modules at these paths terms, which are all that can learn."""
    modules, chance = dict(network.named_modules()), Chance()
    network.freeze()
    adapted = [(path, LoraLinear(modules[path], path, recipe, chance)) for path in paths]
    network.update_modules(tree_unflatten(cast("list[tuple[str, object]]", adapted)))
    return chance


def learned(network: nn.Module) -> Numbers:
    """Return what can learn, by the path of the parameter."""
    return dict(cast("list[tuple[str, mx.array]]", tree_flatten(network.trainable_parameters())))


def set_learned(network: nn.Module, numbers: Mapping[str, mx.array]) -> None:
    """Set what can learn."""
    network.update(tree_unflatten(list(numbers.items())))


def dims(linear: nn.Module) -> tuple[int, int]:
    """Return inputs and outputs of a linear layer."""
    outputs, inputs = linear["weight"].shape
    return (inputs * 32 // linear.bits if isinstance(linear, nn.QuantizedLinear) else inputs), outputs


def chosen(network: nn.Module, targets: Sequence[str], last: int | None) -> list[str]:
    """Return the paths of the linear layers that get terms.

    Args:
        network: with its plain modules.
        targets: last components of their paths.
        last: only those of so many last blocks; ``None`` = of all.

    Raises:
        MlxpError: there is none.
    """
    found = [
        path
        for path, module in network.named_modules()
        if isinstance(module, nn.Linear | nn.QuantizedLinear)
        and path.rpartition(".")[2] in targets
        and block_of(path) is not None
    ]
    if last is not None:
        count = blocks(network)
        found = [path for path in found if (block_of(path) or 0) >= count - last]
    if not found:
        raise MlxpError(f"the network has no module that is called {' or '.join(targets)}")
    return sorted(found)


def block_of(path: str) -> int | None:
    """Return the number of the block that a module belongs to."""
    number = path.partition(BLOCKS)[2].partition(".")[0]
    return int(number) if number.isdigit() else None


def blocks(network: nn.Module) -> int:
    """Return how many blocks a network has."""
    return 1 + max((block_of(path) or 0 for path, _ in network.named_modules()), default=0)


def _seed(text: str) -> int:
    return zlib.crc32(text.encode())
