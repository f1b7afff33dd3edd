"""A further stage between logits and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:
    import mlx.core as mx

    LogitsMap = Callable[[mx.array], mx.array]
    """``[rows, vocabulary]`` float32 log-probabilities -> the same shape; minus infinity stays so."""

Standard = Literal["temperature", "top_p", "top_k", "min_p"]


class SamplerStage(Struct, frozen=True, kw_only=True):
    """One stage, applied only to the rows whose request carries its name in ``Sampling.stages``.

    Its map sees log-probabilities after bias, penalties and the constraint's mask, normalised over what is left, and
    must leave each row at least one token. At temperature 0 the likeliest token after all stages is taken.

    Attributes:
        name: unique; the key in ``Sampling.stages``.
        order: place in the chain, explicit. The core's own: penalties 100, top_p 200, top_k 300, min_p 400,
            temperature 500.
        params: decodes the request's settings.
        build: settings of the rows at hand, one for each -> the map over those rows; imports mlx inside.
        replaces: standard stages that are skipped for rows with this one; a stage that replaces the temperature is
            drawn from even where the request says 0.
    """

    name: str
    order: int
    params: type[Struct]
    build: Callable[[Sequence[Any]], LogitsMap]
    replaces: frozenset[Standard] = frozenset()
