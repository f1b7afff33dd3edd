"""Networks with random weights, and reading and writing with them: what the laws of families are checked on."""

import zlib
from collections.abc import Mapping, MutableMapping, Sequence
from typing import cast

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten

from mlxp_core.contracts import FamilyConfig, KVPolicy, LanguageModel, ModelFamily
from mlxp_core.kv import BatchCache, PlainPolicy, forward


def random_parameters(network: LanguageModel, seed: int) -> dict[str, mx.array]:
    """Return new parameters by name, the same for every run and every order of names.

    Matrices are normal with variance ``1 / inputs``, so that activations keep their size; vectors stay near what the
    network set them to (norms near one, biases near zero).
    """
    return {name: _random(name, initial, seed) for name, initial in parameters(network).items()}


def parameters(network: LanguageModel) -> dict[str, mx.array]:
    """Return the parameters by dotted name."""
    return dict(cast("list[tuple[str, mx.array]]", tree_flatten(network.parameters())))


def load(network: LanguageModel, weights: Mapping[str, mx.array]) -> None:
    """Set the parameters of these names."""
    network.update(tree_unflatten(list(weights.items())))


def renamed(
    family: ModelFamily, config: FamilyConfig, checkpoint: Mapping[str, mx.array]
) -> MutableMapping[str, mx.array]:
    """Turn the tensors of a checkpoint into parameters; no two may end up under one name."""
    weights: dict[str, mx.array] = {}
    for name, value in checkpoint.items():
        if (parameter := family.rename(name)) is not None:
            assert parameter not in weights, f"two tensors of the checkpoint become {parameter!r}"
            weights[parameter] = value
    if family.convert is not None:
        family.convert(weights, config)
    return weights


class Session:
    """Rows of one network, read and continued."""

    def __init__(self, network: LanguageModel, *, slack: int = 16, policy: KVPolicy | None = None) -> None:
        """Start with one empty row, of plain caches if ``policy`` says nothing else."""
        self.network = network
        self.cache = BatchCache(network.make_caches(policy or PlainPolicy(mx.float32, slack=slack)))

    def read(self, rows: Sequence[Sequence[int]], *, revocable: bool = False) -> list[mx.array]:
        """Read new tokens of every row in one ragged pass; return the logits of each: ``[count, vocabulary]``."""
        width = max(1, *(len(row) for row in rows))
        tokens = mx.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=mx.int32)
        hidden = forward(
            self.network, self.cache, tokens, counts=[len(row) for row in rows], revocable=revocable
        )
        logits = self.network.logits(hidden).astype(mx.float32)
        assert mx.isfinite(logits).all(), (
            "padding or a row without tokens made logits infinite or not a number"
        )
        return [logits[index, : len(row)] for index, row in enumerate(rows)]

    def greedy(self, logits: Sequence[mx.array], steps: int) -> tuple[list[list[int]], list[mx.array]]:
        """Go on from ``logits`` by the likeliest tokens.

        Returns:
            The tokens of each row, and its last logits, ``[vocabulary]``.
        """
        last = [row[-1] for row in logits]
        said: list[list[int]] = [[] for _ in last]
        for _ in range(steps):
            for row, scores in zip(said, last, strict=True):
                row.append(cast("int", mx.argmax(scores).item()))
            last = [row[-1] for row in self.read([[row[-1]] for row in said])]
        return said, last


def _random(name: str, initial: mx.array, seed: int) -> mx.array:
    key = mx.random.key(zlib.crc32(name.encode()) ^ seed)
    noise = mx.random.normal(initial.shape, key=key)
    if initial.ndim < 2:  # a vector
        return initial.astype(mx.float32) + 0.1 * noise
    scaled: mx.array = noise * initial.shape[-1] ** -0.5
    return scaled
