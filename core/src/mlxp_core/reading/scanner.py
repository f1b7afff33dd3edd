"""Finding markers in text that arrives in pieces, however it is cut.

Text is certain as soon as no marker can begin in it any more; only a tail that is a proper beginning of a marker is
held back. Where two markers begin at one place, the shorter is found, since it is complete first.
"""

import re
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


class MarkerScanner:
    """Looks for the first of several markers.

    Attributes:
        held: the tail that may be the beginning of a marker.
    """

    def __init__(self, markers: Sequence[str]) -> None:
        self._markers = tuple(sorted(filter(None, markers), key=len))
        self._pattern = re.compile("|".join(map(re.escape, self._markers))) if self._markers else None
        self.held = ""

    def feed(self, text: str) -> tuple[str, str | None, str]:
        """Take more text.

        Returns:
            The text that is certain, the marker found behind it if any, and what stands behind the marker (not
            scanned yet: feed it to whichever scanner is due then).
        """
        if self._pattern is None:
            return text, None, ""
        text = self.held + text
        found = self._pattern.search(text)
        if found is not None:
            self.held = ""
            return text[: found.start()], found.group(), text[found.end() :]
        certain = len(text) - overlap(text, self._markers)
        self.held = text[certain:]
        return text[:certain], None, ""

    def flush(self) -> str:
        """Return the held text: nothing follows, so it is no marker."""
        text, self.held = self.held, ""
        return text
