"""Finding markers in text that arrives in pieces, however it is cut.

Text is certain as soon as no marker can begin in it any more; only a tail that is a proper beginning of a marker is
held back. The marker that is complete first is found; of several complete at one place, the longest.
"""

from collections.abc import Iterable, Sequence


def overlap(text: str, markers: Iterable[str]) -> int:
    """Return the length of the longest tail of ``text`` that is a proper beginning of one of ``markers``."""
    longest = 0
    for marker in markers:
        for length in range(min(len(marker) - 1, len(text)), longest, -1):
            if text.endswith(marker[:length]):
                longest = length
                break
    return longest


def might_begin(text: str, markers: Iterable[str]) -> bool:
    """Say whether ``text`` is a proper beginning of one of ``markers``."""
    return any(len(text) < len(marker) and marker.startswith(text) for marker in markers)


def longest_first(markers: Iterable[str]) -> tuple[str, ...]:
    """Return the markers without empty and double ones, the longest first."""
    return tuple(sorted({marker for marker in markers if marker}, key=lambda marker: (-len(marker), marker)))


def first_complete(text: str, markers: Sequence[str]) -> tuple[int, str] | None:
    """Return the marker that ends first in ``text`` and where it begins; ``markers`` come longest first."""
    found: tuple[int, str] | None = None
    end = len(text) + 1
    for marker in markers:
        at = text.find(marker, 0, end - 1)
        if at >= 0:
            found, end = (at, marker), at + len(marker)
    return found


class MarkerScanner:
    """Looks for the first of several markers.

    Attributes:
        held: the tail that may be the beginning of a marker.
    """

    def __init__(self, markers: Sequence[str]) -> None:
        self._markers = longest_first(markers)
        self.held = ""

    def feed(self, text: str) -> tuple[str, str | None, str]:
        """Take more text.

        Returns:
            The text that is certain, the marker found behind it if any, and what stands behind the marker (not
            scanned yet: feed it to whichever scanner is due then).
        """
        if not self._markers:
            return text, None, ""
        text = self.held + text
        found = first_complete(text, self._markers)
        if found is not None:
            self.held = ""
            at, marker = found
            return text[:at], marker, text[at + len(marker) :]
        certain = len(text) - overlap(text, self._markers)
        self.held = text[certain:]
        return text[:certain], None, ""

    def flush(self) -> str:
        """Return the held text: nothing follows, so it is no marker."""
        text, self.held = self.held, ""
        return text
