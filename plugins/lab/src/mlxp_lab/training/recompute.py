"""Blocks that keep nothing for the way back: what they computed is computed again when they are differentiated.

So memory holds what goes from block to block, and the inside of one block at a time (Chen et al.: "Training Deep Nets
with Sublinear Memory Cost", 2016). Keys and values that a later block reads go from block to block, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mlx.core as mx
from mlx import nn

from mlxp_lab.training.lora import Numbers, block_of, learned, set_learned
from mlxp_lab.training.passes import PassAttention, PassState

Arrays = tuple[mx.array, ...]


def recompute_blocks(network: nn.Module) -> None:
    """Have every block of a network compute again what it needs; its parameters stay where they are."""
    for path, module in network.named_modules():
        number = block_of(path)
        if number is not None and path.endswith(f".{number}"):
            module.__class__ = _recomputing(type(module))


def _recomputing(kind: type[nn.Module]) -> type[nn.Module]:
    """Return the same kind of module, whose calls are computed again."""

    def call(self: nn.Module, *given: object) -> mx.array:
        return _called(lambda *told: kind.__call__(self, *told), self, given)

    return type(f"Recomputed{kind.__name__}", (kind,), {"__call__": call})


def _called(plain: Callable[..., mx.array], block: nn.Module, given: Sequence[object]) -> mx.array:
    """Call a block so that it is computed again.

    All that its answer depends on, and that can learn, must be handed in, and all that others read must be handed out.
    """
    shared = [each for each in given if isinstance(each, PassAttention)]
    begun = [(each, each.state) for each in given if isinstance(each, PassState)]

    def again(numbers: Numbers, arrays: Arrays, held: list[Arrays]) -> tuple[mx.array, list[Arrays]]:
        set_learned(block, numbers)
        for attention, before in zip(shared, held, strict=True):
            attention.held = before
        for state, zeros in begun:
            state.state = zeros
        fresh = iter(arrays)
        out = plain(*(next(fresh) if isinstance(each, mx.array) else each for each in given))
        return out, [attention.held for attention in shared]

    numbers = learned(block)
    arrays = tuple(each for each in given if isinstance(each, mx.array))
    out, held = mx.checkpoint(again)(numbers, arrays, [each.held for each in shared])
    set_learned(block, numbers)
    for attention, after in zip(shared, held, strict=True):
        attention.held = tuple(after)
    return out
