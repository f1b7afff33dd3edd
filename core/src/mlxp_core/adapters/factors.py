"""The matrices of an adapter's terms, read from its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import mlx.core as mx
from msgspec import Struct

from mlxp_core.adapters.folder import AdapterFolder, Term
from mlxp_core.errors import BadAdapter


class Factors(Struct, frozen=True, eq=False):
    """The two halves of a term: ``a``, ``[inputs, rank]``, and ``b``, ``[rank, outputs]``, times the scale."""

    a: mx.array
    b: mx.array


def read_factors(folder: AdapterFolder, terms: Mapping[str, Term], dtype: mx.Dtype) -> dict[str, Factors]:
    """Read the matrices of every term that adds anything, turned and scaled.

    Args:
        folder: the adapter.
        terms: those to read, by what they are to be called.
        dtype: of the matrices.

    Raises:
        BadAdapter: the file cannot be read, or holds numbers that are none.
    """
    try:
        stored = cast("dict[str, mx.array]", mx.load(str(folder.file)))
        factors = {path: _factors(term, stored, dtype) for path, term in terms.items() if term.scale}
        finite = [mx.isfinite(half).all() for term in factors.values() for half in (term.a, term.b)]
        mx.eval(finite, [(term.a, term.b) for term in factors.values()])
    except (RuntimeError, ValueError) as error:
        raise BadAdapter(f"{folder.path.name}: the weights cannot be read: {error}") from error
    if finite and not mx.stack(finite).all():
        raise BadAdapter(
            f"{folder.path.name}: its matrices hold numbers that are infinite or none, at least in {dtype}; "
            "was it trained well?"
        )
    return factors


def _factors(term: Term, stored: Mapping[str, mx.array], dtype: mx.Dtype) -> Factors:
    a, b = (stored[half.tensor].astype(mx.float32) for half in (term.a, term.b))
    if term.turned:
        a, b = a.T, b.T
    return Factors(mx.contiguous(a.astype(dtype)), mx.contiguous((b * term.scale).astype(dtype)))
