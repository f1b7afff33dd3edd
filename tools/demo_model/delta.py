"""The gated delta rule for training: token by token as it is defined, and chunk by chunk in matrix products.

With a matrix S of a head, the key k, query q and value v of a token, a decay exp(g) and a rate b:

    S <- exp(g) S;   S <- S + b (v - S k) k^T;   o = S q

(Yang, Kautz, Hatamizadeh: "Gated Delta Networks", 2024.) Within a chunk the corrections are the solution of a unit
triangular system (Yang, Wang, Zhang, Shen, Kim: "Parallelizing Linear Transformers with the Delta Rule", 2024); what is
within chunks is computed for all of them at once, and only the states go from chunk to chunk.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK = 32
"""Tokens of a chunk; widths are multiples of it."""


def token_by_token(q: Tensor, k: Tensor, v: Tensor, g: Tensor, b: Tensor) -> Tensor:
    """Run the rule as it is defined, from an empty state.

    Args:
        q: ``[rows, width, heads, key_dim]``.
        k: ``[rows, width, heads, key_dim]``.
        v: ``[rows, width, heads, value_dim]``.
        g: ``[rows, width, heads]``, log decays.
        b: ``[rows, width, heads]``, rates.

    Returns:
        ``[rows, width, heads, value_dim]``.
    """
    rows, width, heads, dim = k.shape
    state = k.new_zeros(rows, heads, v.shape[-1], dim)
    answers = []
    for token in range(width):
        key = k[:, token, :, :, None]
        state = state * g[:, token, :, None, None].exp()
        error = b[:, token, :, None] * (v[:, token] - (state @ key)[..., 0])
        state = state + error[..., None] @ key.transpose(-1, -2)
        answers.append((state @ q[:, token, :, :, None])[..., 0])
    return torch.stack(answers, 1)


def chunk_by_chunk(q: Tensor, k: Tensor, v: Tensor, g: Tensor, b: Tensor) -> Tensor:
    """Run the rule in matrix products; see ``token_by_token``. The width must be a multiple of ``CHUNK``."""
    rows = q.shape[0]
    return across(*within(*(each.flatten(0, 1) for each in (q, k, v, g, b))), rows).unflatten(0, (rows, -1))


def within(q: Tensor, k: Tensor, v: Tensor, g: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """Return what chunks need to know before they know the state they begin with.

    Tokens of all rows lie flat, ``[tokens, heads, dim]``. Letters as in ``chunk_by_chunk`` of the server's family:
    ``O = asked S + local E``, ``E = corrected - recalled S``, ``S' = fade S + kept E``.
    """
    queries, keys, values = (_cut(x) for x in (q, k, v))  # [chunks, heads, CHUNK, dim]
    decays, rates = (_cut(x[..., None]) for x in (g, b))
    since = decays.cumsum(-2)  # G
    between = _between(since)  # D
    turned = keys.transpose(-1, -2)
    inverse = Inverse.apply(torch.tril(rates * between * (keys @ turned), -1))
    sides = torch.cat((rates * values, rates * since.exp() * keys), -1)
    corrected, recalled = (inverse @ sides).split((v.shape[-1], k.shape[-1]), -1)
    local = between * (queries @ turned)
    last = since[..., -1:, :]
    kept = ((last - since).exp() * keys).transpose(-1, -2)
    return corrected, recalled, local, since.exp() * queries, kept, last.exp()


def across(  # noqa: PLR0917  # the terms of one formula
    corrected: Tensor, recalled: Tensor, local: Tensor, asked: Tensor, kept: Tensor, fade: Tensor, rows: int
) -> Tensor:
    """Go from chunk to chunk of each row; return the answers, ``[tokens, heads, value_dim]``."""
    parts = [
        each.unflatten(0, (rows, -1)).unbind(1) for each in (corrected, recalled, local, asked, kept, fade)
    ]
    state: Tensor | None = None
    answers = []
    for error, known, near, ask, keep, rest in zip(*parts, strict=True):
        if state is None:
            answers.append(near @ error)
            state = keep @ error
        else:
            error = error - known @ state  # noqa: PLW2901  # the chunk's corrections, once its state is known
            answers.append(ask @ state + near @ error)
            state = rest * state + keep @ error
    return torch.stack(answers, 1).transpose(2, 3).flatten(0, 2)


class Inverse(torch.autograd.Function):
    """``(I + a)^-1`` of strictly lower triangular ``a``, by halves: as stable as forward substitution."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        """Join inverted blocks on the diagonal, twice as large each time."""
        size = a.shape[-1]
        place = torch.arange(size, device=a.device)
        done = torch.eye(size, device=a.device, dtype=a.dtype) - a * _corner(place, 1)
        half = 2
        while half < size:
            done = done - done @ (a * _corner(place, half)) @ done
            half *= 2
        ctx.save_for_backward(done)
        return done

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Return ``-done^T grad done^T``, strictly lower triangular."""
        (done,) = ctx.saved_tensors
        turned = done.transpose(-1, -2)
        return -torch.tril(turned @ grad @ turned, -1)


def _corner(place: Tensor, half: int) -> Tensor:
    """Mark the lower left blocks of size ``half`` of the blocks on the diagonal that are twice as large."""
    block, side = place // (2 * half), place // half % 2
    return (block[:, None] == block) & (side[:, None] == 1) & (side == 0)


def _between(since: Tensor) -> Tensor:
    """Return ``exp(G_i - G_j)`` where ``j <= i``, else 0."""
    size = since.shape[-2]
    rest = since - since.transpose(-1, -2)
    seen = torch.ones(size, size, dtype=torch.bool, device=since.device).tril()
    return rest.masked_fill(~seen, float("-inf")).exp()


def _cut(x: Tensor) -> Tensor:
    """Cut ``[tokens, heads, dim]`` into ``[chunks, heads, CHUNK, dim]``."""
    return x.unflatten(0, (-1, CHUNK)).transpose(1, 2).contiguous()
