"""A model's first passes, made before anybody waits for them."""

import mlx.core as mx

from mlxp_core.kv import BatchCache, forward
from mlxp_core.loading.network import Network

WIDTHS = (2, 1)
"""Tokens of each pass: one as prompts are read, one as answers are written."""


def warm(network: Network) -> None:
    """Have MLX compile what a network needs, so that a model that counts as loaded is as quick as it will be.

    On a CPU it is more than speed: before its first compilation in a process MLX looks for a compiler, and a Ctrl-C
    in that moment is lost.
    """
    row = BatchCache(network.model.make_caches(network.policy), drafter=network.drafter)
    for width in WIDTHS:
        tokens = mx.zeros((1, width), dtype=mx.int32)
        mx.eval(network.model.logits(forward(network.model, row, tokens)))
