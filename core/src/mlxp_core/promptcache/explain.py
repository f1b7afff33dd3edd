"""Why so much of a prompt came from the cache and not more, in words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from mlxp_core.promptcache.tree import Tokens
from mlxp_core.types import Parting, Reuse, ReuseCause

NEGLIGIBLE = 16
"""Known tokens that have to be read again without anyone asking why."""


def explain(
    key: Tokens,
    *,
    cached: int,
    shared: int,
    other: int | None,
    known: bool,
    lost: bool,
    message_ends: Sequence[int],
    spell: Callable[[int], str],
) -> Reuse:
    """Say what a look-up came to.

    Args:
        key: of the prompt.
        cached: tokens that were taken.
        shared: tokens that the prompt shares with a known sequence.
        other: the token that the known sequence has behind those.
        known: there are sequences of this model at all.
        lost: a checkpoint that would have served had to make room.
        message_ends: tokens up to the end of each message but the last.
        spell: token -> its text.
    """
    parting = None
    if other is not None and shared < len(key):
        parting = Parting(
            place=shared,
            message=_message(shared, message_ends),
            token=_token(key[shared]),
            text=_text(key[shared], spell),
            known_token=_token(other),
            known_text=_text(other, spell),
        )
    short = min(shared, len(key) - 1) - cached > NEGLIGIBLE
    cause = _cause(short=short, parted=parting is not None, known=known, lost=lost)
    return Reuse(
        prompt=len(key),
        cached=cached,
        shared=shared,
        cause=cause,
        parting=parting,
        why=_why(cause, cached, shared, parting),
    )


def off(prompt: int, why: str) -> Reuse:
    """Say that nothing is reused at all."""
    return Reuse(prompt=prompt, cached=0, shared=0, cause="off", parting=None, why=why)


def _cause(*, short: bool, parted: bool, known: bool, lost: bool) -> ReuseCause:
    if not known:
        return "evicted" if lost else "empty"
    if short:
        return "evicted" if lost else "no_checkpoint"
    return "different" if parted else "none"


def _why(cause: ReuseCause, cached: int, shared: int, parting: Parting | None) -> str:
    where = f" {_parted(parting)}." if parting is not None else ""
    match cause:
        case "empty":
            return "Nothing of this model, with these adapters, is in the cache yet."
        case "evicted":
            return f"A checkpoint behind token {cached} that would have served had to make room.{where}"
        case "no_checkpoint":
            return (
                f"The prompt is known up to token {shared}, but this model cannot go back to any place, and its last "
                f"checkpoint before that is at {cached}.{where}"
            )
        case _:
            return f"What is known of the prompt was taken.{where}"


def _parted(parting: Parting) -> str:
    of = "" if parting.message is None else f" of message {parting.message}"
    return (
        f"It parts from the closest known one at token {parting.place}{of}: {parting.text!r} here, "
        f"{parting.known_text!r} there"
    )


def _message(place: int, ends: Sequence[int]) -> int | None:
    """Return which message a token belongs to; one without words, which ends where the one before does, comes first."""
    over = bisect_right(ends, place)
    if not ends or not over:
        return 0 if ends else None
    return bisect_left(ends, ends[over - 1]) + 1


def _token(token: int) -> int | None:
    """Return an id; images have none."""
    return token if token >= 0 else None


def _text(token: int, spell: Callable[[int], str]) -> str:
    return spell(token) if token >= 0 else "<image>"
