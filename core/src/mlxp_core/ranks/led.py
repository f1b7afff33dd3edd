"""A network of which other ranks hold parts, as the engine of the first one sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import mlx.core as mx
from msgspec.structs import replace

from mlxp_core.contracts import Inputs, KVPolicy, LayerCache
from mlxp_core.errors import BadAdapter
from mlxp_core.loading.network import Network
from mlxp_core.ranks.group import Group
from mlxp_core.ranks.messages import Embed, Make, Message, Pass, Score
from mlxp_core.ranks.mirror import Ledger, Mirror

Together = Callable[[Message, Callable[[], mx.array]], mx.array]
"""Tells all other ranks to compute something, and computes it."""


class Led:
    """A ``LanguageModel``: each call is told to the other ranks, made, and sets the device to work at once.

    So all ranks build the same passes in the same order, and a pass that nobody asks for in the end has been computed
    all the same.
    """

    def __init__(self, number: int, part: Network, group: Group, ledger: Ledger, together: Together) -> None:
        """Lead the parts of the network that goes by ``number``."""
        self._number = number
        self._model = part.model
        self._policy = part.policy
        self._group = group
        self._ledger = ledger
        self._together = together

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return the last hidden states, ``[rows, width, hidden]``."""
        mirrors = cast("Sequence[Mirror]", caches)
        at, embeddings = inputs.at, inputs.embeddings
        message = Pass(
            self._number,
            tuple(mirror.number for mirror in mirrors),
            at.starts,
            at.counts,
            at.width,
            at.revocable,
            inputs.images,
            inputs.past_images,
            None if embeddings is None else dtype_name(embeddings.dtype),
            0 if embeddings is None else embeddings.shape[-1],
        )
        return self._together(
            message, lambda: self._model(self._spread(inputs), [mirror.own for mirror in mirrors])
        )

    def logits(self, hidden: mx.array) -> mx.array:
        """Return scores ``[..., vocabulary]`` for hidden states ``[..., hidden]``."""
        message = Score(self._number, hidden.shape, dtype_name(hidden.dtype))
        return self._together(message, lambda: self._model.logits(self._group.spread(hidden)))

    def embed(self, tokens: mx.array) -> mx.array:
        """Return input embeddings ``[rows, width, hidden]``."""
        message = Embed(self._number, tokens.shape)
        return self._together(message, lambda: self._model.embed(self._group.spread(tokens.astype(mx.int32))))

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return empty caches for one row, by the policy that this network was loaded with.

        Raises:
            ValueError: it is another policy, which the other ranks do not know.
        """
        if policy is not self._policy:
            raise ValueError("a network of several ranks has caches of its own policy only")
        own = self._model.make_caches(policy)
        numbers = [self._ledger.number() for _ in own]
        self._ledger.note(Make(self._number, numbers[0]))
        return [Mirror(cache, number, self._ledger) for cache, number in zip(own, numbers, strict=True)]

    def _spread(self, inputs: Inputs) -> Inputs:
        tokens = self._group.spread(inputs.tokens.astype(mx.int32))  # first, as the others do
        embeddings = None if inputs.embeddings is None else self._group.spread(inputs.embeddings)
        return replace(inputs, tokens=tokens, embeddings=embeddings)

    def update(self, parameters: dict[str, Any]) -> object:
        """Set parameters of this rank's part."""
        return self._model.update(parameters)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of this rank's part."""
        return self._model.parameters()

    def named_modules(self) -> Iterator[tuple[str, object]]:
        """Refuse: adapters would look for modules to attach to.

        Raises:
            BadAdapter: always.
        """
        raise BadAdapter("adapters cannot be mounted on a model that several ranks serve; serve it with one")


def dtype_name(dtype: mx.Dtype) -> str:
    """Return the bare name of a type, such as ``bfloat16``."""
    return str(dtype).rpartition(".")[2]


DTYPES: Mapping[str, mx.Dtype] = {dtype_name(each): each for each in (mx.float32, mx.bfloat16, mx.float16)}
"""Of hidden states, by name."""
