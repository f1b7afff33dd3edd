"""Whether rows go on from checkpoints as they should, tried on the model itself before anyone relies on it.

The passes of both sides are cut at the same places, so that nothing but the checkpoint can make a difference.
"""

import logging
from collections.abc import Sequence
from typing import cast

import mlx.core as mx
from msgspec.structs import replace

from mlxp_core.engine.faults import contained
from mlxp_core.errors import MlxpError
from mlxp_core.kv import BatchCache, RowSnapshot, forward
from mlxp_core.loading.network import Network
from mlxp_core.promptcache.layout import mapped
from mlxp_core.promptcache.pieces import Held, made_of, on_host, snapshots_of, take

_log = logging.getLogger(__name__)

BEGINNING, END, DETOUR = 24, 12, 8
"""Tokens read before a checkpoint, behind it, and on another way from it."""

EXACT, ROUNDED = 1e-3, 3e-2
"""How far a logit may be off, relative to the largest one: where numbers are float32, and elsewhere."""


class Trials:
    """What came of trials, model by model.

    Attributes:
        due: models that are to be tried when there is time.
        faults: of those that failed.
    """

    def __init__(self) -> None:
        """Begin with none tried."""
        self.due: set[str] = set()
        self.faults: dict[str, str] = {}
        self._tried: set[str] = set()

    def fault(self, model: str, network: Network) -> str | None:
        """Return what is wrong with a model, trying it the first time; ``None`` = nothing."""
        self.due.discard(model)
        if model not in self._tried:
            self._tried.add(model)
            match contained(trial, network):
                case None:
                    pass
                case MlxpError() as error:
                    self.faults[model] = error.message
                case found:
                    self.faults[model] = found
            if model in self.faults:
                _log.error("the prompt cache reuses nothing of %s: %s", model, self.faults[model])
        return self.faults.get(model)


def trial(network: Network) -> str | None:
    """Return how rows that go on from checkpoints differ from one that has read everything; ``None`` = not at all."""
    limit = network.used or network.vocabulary
    tokens = [(7 * place * place + 3 * place + 1) % limit for place in range(BEGINNING + END + DETOUR)]
    beginning, end, detour = (
        tokens[:BEGINNING],
        tokens[BEGINNING : BEGINNING + END],
        tokens[BEGINNING + END :],
    )
    row = _empty(network)
    _read(network, row, beginning)
    held = _taken(row, [])
    expected = _read(network, row, end)
    other = _thawed(network, held, BEGINNING)
    _read(network, other, detour)
    further = _taken(other, [(held, BEGINNING)])
    ways = {"thawed from memory": held, "thawed from disk": _copied(held)}
    if further.reaches(BEGINNING):
        ways["cut from a longer one"] = further
    for name, checkpoint in ways.items():
        off = _off(expected, _read(network, _thawed(network, checkpoint, BEGINNING), end))
        allowed = EXACT if expected.dtype == mx.float32 else ROUNDED
        if not off <= allowed:  # so that what is no number fails, too
            return f"a row {name} is off by {off:.2g} of the largest logit, where {allowed:.2g} is allowed"
    return None


def _empty(network: Network) -> BatchCache:
    return BatchCache(network.model.make_caches(network.policy))


def _read(network: Network, row: BatchCache, tokens: Sequence[int]) -> mx.array:
    """Read tokens, and return their logits."""
    return network.model.logits(forward(network.model, row, mx.array([tokens], dtype=mx.int32)))


def _taken(row: BatchCache, bases: Sequence[tuple[Held, int]]) -> Held:
    (length,) = row.lengths
    return take(lambda starts: row.freeze(0, starts).layers, length, row.reached(0), bases)


def _thawed(network: Network, held: Held, length: int) -> BatchCache:
    return _empty(network).thaw(RowSnapshot(snapshots_of(held, length), length, length))


def _copied(held: Held) -> Held:
    """Return what comes back from disk: the same bytes in other arrays."""
    pieces = {}
    for piece in held.parts:
        rows = [[replace(tensor, data=bytes(tensor.data)) for tensor in row] for row in on_host(piece)]
        pieces[piece] = made_of(piece.first, piece.stop, rows)
    return mapped(held, pieces)


def _off(expected: mx.array, found: mx.array) -> float:
    found, expected = found.astype(mx.float32), expected.astype(mx.float32)
    return cast("float", (mx.abs(found - expected).max() / mx.abs(expected).max()).item())
