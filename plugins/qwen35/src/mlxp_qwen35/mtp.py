"""The head that guesses a token ahead ("multi-token prediction"): one block over the network's own hidden states.

With ``H_t`` the network's hidden state of token ``t``, final norm included, and ``E`` its embedding table,

    x  = fc [ norm(E[token t+1]) ; norm(H_t) ]        two norms of their own, embedding first
    H' = norm(block(x))

and the network's own head scores ``H'`` for token ``t+2``. To guess further, ``H'`` takes the place of ``H``.
"""

from collections.abc import Sequence
from typing import cast

import mlx.core as mx
from mlx import nn

from mlxp_core.contracts import Inputs, KVPolicy, LayerCache
from mlxp_qwen35.config import Qwen35Config
from mlxp_qwen35.norms import Norm
from mlxp_qwen35.positions import AxialRope, ShiftCache
from mlxp_qwen35.text import Block


class Predictor(nn.Module):
    """The head, a ``DraftNetwork``."""

    def __init__(self, config: Qwen35Config) -> None:
        """Make norms, projection and blocks of full attention."""
        super().__init__()
        self.pre_fc_norm_embedding = Norm(config.hidden, config.eps)
        self.pre_fc_norm_hidden = Norm(config.hidden, config.eps)
        self.fc = nn.Linear(2 * config.hidden, config.hidden, bias=False)
        self.layers = [Block(config, "full_attention") for _ in range(config.draft_layers)]
        self.norm = Norm(config.hidden, config.eps)
        self._rope = AxialRope(config.rotary)

    def __call__(self, inputs: Inputs, hidden: mx.array, caches: Sequence[LayerCache]) -> mx.array:
        """Guess one token further than ``inputs``: ``[rows, width, hidden]``, normed; see ``DraftNetwork``.

        Raises:
            ValueError: ``inputs`` has no embeddings.
        """
        if inputs.embeddings is None:
            raise ValueError(
                "the head has no embedding table; give it the embeddings of the network it guesses for"
            )
        halves = [self.pre_fc_norm_embedding(inputs.embeddings), self.pre_fc_norm_hidden(hidden)]
        x = self.fc(mx.concatenate(halves, axis=-1))
        shift, *states = caches
        turn = self._rope.turn(cast("ShiftCache", shift).place(inputs))
        for block, cache in zip(self.layers, states, strict=True):
            x = block(x, inputs.at, turn, cache)
        return self.norm(x)

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return empty caches for one row: for the shift of images, and for each block."""
        return [ShiftCache(), *(block.make_cache(layer, policy) for layer, block in enumerate(self.layers))]
