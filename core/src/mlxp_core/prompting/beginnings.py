"""Texts that were encoded lately, so that one which begins like one of them is encoded from there on only.

Turn by turn, a conversation is encoded again as a whole, though little of it is new; behind 20,000 tokens that takes
longer than all else before the model begins. A tokenizer cuts its added tokens out of a text before it does anything
else, and encodes the pieces between them one by one. So up to the last added token that two texts share, they have
the same tokens, and what stands behind is encoded as if it began there. An added token counts as shared where the
texts agree for as many characters more as the longest of them has, as a longer one may begin like it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock

from msgspec import Struct

MOST_TEXTS = 16
MOST_LETTERS = 4_000_000
"""Of all texts together."""

LEAST_LETTERS = 2000
"""Shorter texts are encoded at once."""


class Encoded(Struct, frozen=True):
    """A text's tokens, and the characters ``[start, end)`` each came from."""

    ids: array[int]
    starts: array[int]
    ends: array[int]


class _Known(Struct, frozen=True):
    text: str
    encoded: Encoded


_NOTHING = _Known("", Encoded(array("I"), array("I"), array("I")))


class Beginnings:
    """Remembers; may be used from any thread."""

    def __init__(
        self,
        encode: Callable[[str], tuple[list[int], list[tuple[int, int]]]],
        anchors: Mapping[int, str],
        margin: int,
    ) -> None:
        """Know nothing yet.

        Args:
            encode: returns tokens and spans of a whole text.
            anchors: added tokens that are found in a text as it is, whatever stands around them, and their texts.
            margin: characters of the longest added token.
        """
        self._encode = encode
        self._anchors = anchors
        self._margin = margin
        self._known: deque[_Known] = deque()
        self._lock = Lock()

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of a text and their spans, as ``encode`` would."""
        if len(text) < LEAST_LETTERS or not self._anchors:
            return self._encode(text)
        encoded = self._continued(text)
        self._remember(_Known(text, encoded))
        return encoded.ids.tolist(), list(zip(encoded.starts, encoded.ends, strict=True))

    def _continued(self, text: str) -> Encoded:
        """Encode what is not shared with a text that is known."""
        with self._lock:
            known = tuple(self._known)
        shared, best = max(
            ((_shared(each.text, text), each) for each in known), key=_first, default=(0, _NOTHING)
        )
        count = self._last_anchor(best, shared - self._margin)
        before = best.encoded
        begin = before.starts[count] if count else 0
        ids, spans = self._encode(text[begin:])
        fresh = _packed(ids, spans, begin)
        return Encoded(
            before.ids[:count] + fresh.ids,
            before.starts[:count] + fresh.starts,
            before.ends[:count] + fresh.ends,
        )

    def _last_anchor(self, known: _Known, limit: int) -> int:
        """Return the place of the last anchor that ends at ``limit`` or before; 0 = there is none.

        A token may have an anchor's number and be made of other letters than the anchor's: then it was not cut out.
        """
        ids, starts, ends = known.encoded.ids, known.encoded.starts, known.encoded.ends
        for place in range(bisect_right(ends, limit) - 1, 0, -1):
            cut = self._anchors.get(ids[place])
            if cut is not None and known.text[starts[place] : ends[place]] == cut:
                return place
        return 0

    def _remember(self, known: _Known) -> None:
        with self._lock:
            self._known.append(known)
            while len(self._known) > MOST_TEXTS or sum(len(each.text) for each in self._known) > MOST_LETTERS:
                self._known.popleft()


def _packed(ids: list[int], spans: list[tuple[int, int]], begin: int) -> Encoded:
    starts = array("I", [begin + start for start, _ in spans])
    return Encoded(array("I", ids), starts, array("I", [begin + end for _, end in spans]))


def _first(pair: tuple[int, _Known]) -> int:
    return pair[0]


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts have in common from their beginning on."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
