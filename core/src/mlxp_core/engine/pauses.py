"""Where the reading of a prompt pauses, so that the prompt cache can take a checkpoint there."""

from collections.abc import Sequence

LEAST = 16
"""Tokens of the shortest checkpoint, and between two of one prompt."""

LEAD_IN = 32
"""Most tokens that a template writes between a conversation and its answer."""


def pauses(boundaries: Sequence[int], length: int, *, cached: int, chunk: int) -> tuple[int, ...]:
    """Return the places to pause at.

    These are the boundaries. Where nothing leads into the answer, the conversation ends where the prompt does, and the
    place before the last token, which is read in any case, is one more. Without boundaries, it is where the last whole
    chunk ends.

    Args:
        boundaries: of the prompt.
        length: its tokens.
        cached: how many of them are known.
        chunk: how many are read at once.
    """
    if not boundaries:
        places = [cached + (length - 1 - cached) // chunk * chunk]
    elif length - boundaries[-1] > LEAD_IN:
        places = [*boundaries, length - 1]
    else:
        places = [*boundaries]
    return spaced([place for place in places if place > cached], cached)


def spaced(places: Sequence[int], after: int) -> tuple[int, ...]:
    """Leave out places close to the next one or to ``after``, but neither the first, the instructions, nor the last."""
    kept: list[int] = []
    for place in reversed(places):
        far = kept and kept[-1] - place >= LEAST and place - after >= LEAST
        if not kept or far or place == places[0]:
            kept.append(place)
    return tuple(reversed(kept))
