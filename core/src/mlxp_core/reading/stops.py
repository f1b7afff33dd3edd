"""Stop strings: the answer ends where the first of them is complete, and nothing of it shows."""

from collections.abc import Sequence

from mlxp_core.reading.scanner import overlap


class StopScanner:
    """Watches visible text for stop strings, however it is cut.

    The string that is complete first wins; of several complete at one place, the longest.

    Attributes:
        matched: the stop string that was found.
        held: text that may begin a stop string; after a match, all that is discarded.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(sorted({stop for stop in stops if stop}, key=len, reverse=True))
        self.matched: str | None = None
        self.held = ""

    def feed(self, text: str) -> str:
        """Take more text; return what may be shown. After a match nothing may."""
        if not self._stops:
            return text
        text = self.held + text
        if self.matched is None:
            self.matched, start = self._first(text)
            shown = len(text) - overlap(text, self._stops) if self.matched is None else start
        else:
            shown = 0
        self.held = text[shown:]
        return text[:shown]

    def flush(self) -> str:
        """Return the held text, because nothing follows it; nothing after a match."""
        if self.matched is not None:
            return ""
        text, self.held = self.held, ""
        return text

    def _first(self, text: str) -> tuple[str | None, int]:
        """Find the stop string that ends first, and where it starts."""
        best: str | None = None
        start, end = 0, len(text) + 1
        for stop in self._stops:
            at = text.find(stop, 0, end - 1)
            if at >= 0 and at + len(stop) < end:
                best, start, end = stop, at, at + len(stop)
        return best, start
