"""The gated delta rule, in two forms that say the same: token by token, and chunk by chunk in matrix products.

Every head keeps a matrix ``S``, ``[value_dim, key_dim]``, that maps keys to values. With the key ``k`` and the query
``q`` of a token, its value ``v``, a decay ``exp(g) <= 1`` and a rate ``0 <= b <= 1``, one token does

    S <- exp(g) S                          forget
    e  = b (v - S k)                       how wrong the matrix is about this key
    S <- S + e k^T                         correct it
    o  = S q                               answer

(Yang, Kautz, Hatamizadeh: "Gated Delta Networks: Improving Mamba2 with Delta Rule", 2024.)

Within a chunk of C tokens the errors ``e`` depend on each other only through products of keys, which makes them the
solution of a unit triangular system (the WY form of Yang, Wang, Zhang, Shen, Kim: "Parallelizing Linear Transformers
with the Delta Rule over Sequence Length", 2024). Let ``G_i = g_1 + .. + g_i``, and ``D_ij = exp(G_i - G_j)`` where
``j <= i``, else 0. Unrolling the rule from ``S``, the state before the chunk, gives for tokens as rows

    e_i = b_i (v_i - exp(G_i) S k_i - sum_{j < i} D_ij (k_i . k_j) e_j)
    (I + A) E = diag(b) V - diag(b exp(G)) K S^T             A_ij = b_i D_ij (k_i . k_j) where j < i
    E = U - W S^T                                            U = (I + A)^-1 diag(b) V
                                                             W = (I + A)^-1 diag(b exp(G)) K
    O = diag(exp(G)) Q S^T + (D * Q K^T) E
    S'= exp(G_C) S + E^T diag(exp(G_C - G)) K

``U``, ``W`` and all that is C by C know nothing of ``S``, so they are made for all chunks at once; the chunks then
follow each other in two products each. Logarithms of decays are summed from ``j + 1`` to ``i`` for every ``D_ij``:
quotients of decays would overflow, and differences of ``G`` would lose the digits of a weak decay behind strong ones.
All of it is float32.

A token with ``g = 0`` and ``b = 0`` leaves ``S`` as it is: that is how padding is written.
"""

import math

import mlx.core as mx

SHORT = 4
"""Passes up to this wide go token by token: too little for matrix products to gain on."""

SEGMENT = 2048
"""Tokens whose chunks are made at once; bounds the memory of a long pass."""


def gated_delta(
    q: mx.array, k: mx.array, v: mx.array, g: mx.array, b: mx.array, state: mx.array
) -> tuple[mx.array, mx.array]:
    """Run the rule over a pass, in the form that is quicker for its width.

    Args:
        q: ``[rows, width, key_heads, key_dim]``: unit length, times the scale of the answer.
        k: ``[rows, width, key_heads, key_dim]``: unit length.
        v: ``[rows, width, heads, value_dim]``; head ``h`` uses key head ``h // (heads / key_heads)``.
        g: ``[rows, width, heads]``, natural logarithm of the decay, at most 0.
        b: ``[rows, width, heads]``, how far an error is corrected, 0 to 1.
        state: ``[rows, heads, value_dim, key_dim]``.

    Returns:
        Answers ``[rows, width, heads, value_dim]``, and the state after the last token; float32 like the arguments.
    """
    width = q.shape[1]
    if width <= SHORT:
        return token_by_token(q, k, v, g, b, state)
    answers = []
    for first in range(0, width, SEGMENT):
        part = slice(first, first + SEGMENT)
        answer, state = chunk_by_chunk(
            q[:, part], k[:, part], v[:, part], g[:, part], b[:, part], state, chunk=usual_chunk()
        )
        answers.append(answer)
    return answers[0] if len(answers) == 1 else mx.concatenate(answers, axis=1), state


def usual_chunk() -> int:
    """Return how many tokens make a chunk: measured by benchmarks/bench_delta.py."""
    return 16 if mx.default_device().type == mx.DeviceType.cpu else 64


# ── Token by token ──────────────────────────────────────────────────────────────────────────────────────────────────


def token_by_token(
    q: mx.array, k: mx.array, v: mx.array, g: mx.array, b: mx.array, state: mx.array
) -> tuple[mx.array, mx.array]:
    """Run the rule as it is written; see ``gated_delta``."""
    answers = []
    for token in range(q.shape[1]):
        answer, state = _step(q[:, token], k[:, token], v[:, token], g[:, token], b[:, token], state)
        answers.append(answer)
    return mx.stack(answers, axis=1), state


@mx.compile
def _step(
    q: mx.array, k: mx.array, v: mx.array, g: mx.array, b: mx.array, state: mx.array
) -> tuple[mx.array, mx.array]:
    """Run one token: the arguments of ``gated_delta`` without their axis of width."""
    rows, key_heads, key_dim = k.shape
    groups = v.shape[1] // key_heads
    asked, key = q[:, :, None, None], k[:, :, None, None]  # [rows, key_heads, 1, 1, key_dim]
    value, rate = v.reshape(rows, key_heads, groups, -1), b.reshape(rows, key_heads, groups, 1)
    kept = state.reshape(rows, key_heads, groups, -1, key_dim) * mx.exp(g).reshape(rows, -1, groups, 1, 1)
    error = rate * (value - (kept * key).sum(axis=-1))
    corrected = kept + error[..., None] * key
    answer = (corrected * asked).sum(axis=-1)
    return answer.reshape(v.shape), corrected.reshape(state.shape)


# ── Chunk by chunk ──────────────────────────────────────────────────────────────────────────────────────────────────


def chunk_by_chunk(
    q: mx.array, k: mx.array, v: mx.array, g: mx.array, b: mx.array, state: mx.array, *, chunk: int
) -> tuple[mx.array, mx.array]:
    """Run the rule in matrix products; see ``gated_delta``, and the module's first page for the letters.

    The state goes turned, ``[key_dim, value_dim]``: all products are then of matrices as they lie, or of a turned
    left one, which every back end is good at.

    Args:
        q: queries.
        k: keys.
        v: values.
        g: log decays.
        b: rates.
        state: before the first token.
        chunk: most tokens of a chunk, a power of two.

    Returns:
        Answers, and the state after the last token.
    """
    rows, width, heads, value_dim = v.shape
    key_heads, key_dim = k.shape[2:]
    size = min(chunk, 2 ** math.ceil(math.log2(max(width, 2))))
    queries, keys = (_cut(x, size, key_heads) for x in (q, k))  # [chunks, rows, key_heads, 1, size, key_dim]
    values, decays, rates = (_cut(x, size, key_heads) for x in (v, g[..., None], b[..., None]))
    since = mx.exp(mx.cumsum(decays, axis=-2))  # exp(G), [chunks, rows, key_heads, groups, size, 1]
    between = _between(decays)  # D
    turned = mx.contiguous(keys.swapaxes(-1, -2))
    sides = mx.concatenate([rates * values, rates * since * keys], axis=-1)
    solved = unit_triangular_inverse(mx.tril(rates * between * (keys @ turned), -1)) @ sides  # U beside W
    ask = mx.concatenate([solved[..., value_dim:], since * queries], axis=-2)  # W above exp(G) Q
    keep = between[..., -1:, :].swapaxes(-1, -2) * keys
    state = mx.contiguous(state.reshape(rows, key_heads, -1, value_dim, key_dim).swapaxes(-1, -2))
    errors, answers = [], []
    for index in range(solved.shape[0]):
        held = ask[index] @ state  # [rows, key_heads, groups, 2 size, value_dim]
        error = solved[index, ..., :value_dim] - held[..., :size, :]
        state = mx.addmm(since[index, ..., -1:, :] * state, keep[index].swapaxes(-1, -2), error)
        errors.append(error)
        answers.append(held[..., size:, :])
    out = mx.addmm(mx.stack(answers), between * (queries @ turned), mx.stack(errors))
    out = out.transpose(1, 0, 4, 2, 3, 5).reshape(rows, -1, heads, value_dim)
    return out[:, :width], state.swapaxes(-1, -2).reshape(rows, heads, value_dim, key_dim)


def unit_triangular_inverse(a: mx.array) -> mx.array:
    """Return ``(I + a)^-1`` of strictly lower triangular matrices ``[..., n, n]``, ``n`` a power of two from 2 on.

    Halves are inverted, both at once, and joined: ``[[X, 0], [L, Y]]^-1 = [[X', 0], [-Y' L X', Y']]``. That is
    forward substitution by blocks, and as stable. Summing powers of ``a`` by doubling is the same on paper only: where
    keys resemble each other, the powers grow to 1e18 before they cancel.
    """
    size = a.shape[-1]
    if size == 2:  # noqa: PLR2004  # the smallest that has anything below its diagonal
        return mx.eye(size) - a
    half = size // 2
    top, low = unit_triangular_inverse(mx.stack([a[..., :half, :half], a[..., half:, half:]]))
    corner = low @ (-a[..., half:, :half] @ top)
    upper = mx.concatenate([top, mx.zeros_like(top)], axis=-1)
    return mx.concatenate([upper, mx.concatenate([corner, low], axis=-1)], axis=-2)


def _cut(x: mx.array, size: int, key_heads: int) -> mx.array:
    """Cut ``[rows, width, heads, dim]`` into ``[chunks, rows, key_heads, groups, size, dim]``, padded by zeros."""
    rows, width, heads, dim = x.shape
    chunks = -(-width // size)
    padded = mx.pad(x, [(0, 0), (0, chunks * size - width), (0, 0), (0, 0)])
    cut = padded.reshape(rows, chunks, size, key_heads, heads // key_heads, dim)
    return mx.contiguous(cut.transpose(1, 0, 3, 4, 2, 5))


def _between(decays: mx.array) -> mx.array:
    """Return ``D``, ``[..., size, size]``, of log decays ``[..., size, 1]``."""
    tokens = mx.arange(decays.shape[-2])
    summed = mx.cumsum(mx.where(tokens[:, None] > tokens, decays, 0), axis=-2)
    return mx.tril(mx.exp(summed))
