"""What is made small: how unlikely learned tokens are, and how little a good answer is preferred to a worse one.

- SFT: the mean of ``-log p(token)`` over learned tokens.
- DPO (Rafailov et al.: "Direct Preference Optimization", 2023): with ``l`` the summed log-probability of an answer and
  ``l0`` that of the base, ``-log sigmoid(beta ((l_w - l0_w) - (l_r - l0_r)))``, the mean over pairs.
- ORPO (Hong, Lee, Thorne: "ORPO: Monolithic Preference Optimization without Reference Model", 2024): with ``m`` the
  mean log-probability of an answer's tokens and ``odds(m) = m - log(1 - exp(m))``,
  ``-m_w - weight log sigmoid(odds(m_w) - odds(m_r))``, the mean over pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import mlx.core as mx
from msgspec import Struct

from mlxp_core.contracts import LanguageModel
from mlxp_lab.training.passes import hidden_states

CHUNK = 1024
"""Tokens whose scores are held at once; those of a chunk are computed again when they are differentiated."""


class Taught(Struct, frozen=True, eq=False):
    """Rows for one pass.

    Attributes:
        tokens: ``[rows, width]`` int32, padded on the right.
        places: ``[learned]``, places in the flattened rows whose next token is learned.
        targets: ``[learned]``, those tokens.
        owners: ``[learned]``, the example each is of.
        examples: how many there are.
        segments: ``[rows, width]``, which example each token is of, where rows are packed.
    """

    tokens: mx.array
    places: mx.array
    targets: mx.array
    owners: mx.array
    examples: int
    segments: mx.array | None = None


def token_losses(model: LanguageModel, taught: Taught) -> mx.array:
    """Return ``-log p`` of every learned token, ``[learned]``, float32."""
    hidden = hidden_states(model, taught.tokens, taught.segments)
    chosen = hidden.reshape(-1, hidden.shape[-1])[taught.places]
    if taught.targets.size <= CHUNK:
        return _surprise(chosen, model=model, targets=taught.targets)
    parts = []
    for first in range(0, taught.targets.size, CHUNK):
        piece = slice(first, first + CHUNK)
        surprise = mx.checkpoint(partial(_surprise, model=model, targets=taught.targets[piece]))
        parts.append(surprise(chosen[piece]))
    return mx.concatenate(parts)


def answer_sums(losses: mx.array, taught: Taught) -> mx.array:
    """Return the summed log-probability of each example's learned tokens, ``[examples]``."""
    summed: mx.array = mx.zeros((taught.examples,)).at[taught.owners].add(-losses)
    return summed


def answer_lengths(taught: Taught) -> mx.array:
    """Return how many tokens of each example are learned, ``[examples]``."""
    counted: mx.array = mx.zeros((taught.examples,)).at[taught.owners].add(mx.ones(taught.owners.shape))
    return counted


def dpo(chosen: mx.array, rejected: mx.array, beta: float) -> tuple[mx.array, Mapping[str, mx.array]]:
    """Return the sum over pairs of the DPO loss, and sums of what tells how it goes.

    Args:
        chosen: ``[pairs]``, log-probability of the good answer less that of the base.
        rejected: the same of the worse one.
        beta: how strongly the base holds.
    """
    margin = beta * (chosen - rejected)
    return mx.logaddexp(0, -margin).sum(), {"accuracy": (margin > 0).sum(), "margin": margin.sum()}


def orpo(chosen: mx.array, rejected: mx.array, weight: float) -> tuple[mx.array, Mapping[str, mx.array]]:
    """Return the sum over pairs of the ORPO loss, and sums of what tells how it goes.

    Args:
        chosen: ``[pairs]``, mean log-probability of the good answer's tokens.
        rejected: the same of the worse one.
        weight: of the odds.
    """
    margin = _log_odds(chosen) - _log_odds(rejected)
    odds, nll = mx.logaddexp(0, -margin).sum(), -chosen.sum()
    told = {"accuracy": (margin > 0).sum(), "margin": margin.sum(), "nll": nll, "odds": odds}
    return nll + weight * odds, told


def _log_odds(mean: mx.array) -> mx.array:
    """Return ``log(p / (1 - p))`` of ``p = exp(mean)``; ``mean`` is kept below 0, where the odds end."""
    below = mx.minimum(mean, -1e-6)
    return below - mx.log(-mx.expm1(below))


def _surprise(hidden: mx.array, *, model: LanguageModel, targets: mx.array) -> mx.array:
    """Return ``-log p`` of ``targets``, ``[tokens]``, after ``hidden``, ``[tokens, hidden]``."""
    scores = model.logits(hidden).astype(mx.float32)
    said = mx.take_along_axis(scores, targets[:, None], axis=-1)[:, 0]
    surprise: mx.array = mx.logsumexp(scores, axis=-1) - said
    return surprise
