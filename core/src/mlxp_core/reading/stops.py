"""Stop strings: the answer ends where the first of them is complete, and nothing of it shows."""

from collections.abc import Sequence

from mlxp_core.reading.scanner import first_complete, longest_first, overlap


class StopScanner:
    """Watches visible text for stop strings, however it is cut.

    The string that is complete first wins; of several complete at one place, the longest.

    Attributes:
        matched: the stop string that was found.
        held: text that may begin a stop string; after a match, all that is discarded.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = longest_first(stops)
        self.matched: str | None = None
        self.held = ""

    def feed(self, text: str) -> str:
        """Take more text; return what may be shown. After a match nothing may."""
        if not self._stops:
            return text
        text = self.held + text
        if self.matched is not None:
            shown = 0
        elif (found := first_complete(text, self._stops)) is not None:
            shown, self.matched = found
        else:
            shown = len(text) - overlap(text, self._stops)
        self.held = text[shown:]
        return text[:shown]

    def flush(self) -> str:
        """Return the held text, because nothing follows it; nothing after a match."""
        if self.matched is not None:
            return ""
        text, self.held = self.held, ""
        return text
