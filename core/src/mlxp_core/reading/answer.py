"""The last stretch of visible text: layout around other parts is dropped, stop strings end it."""

from collections.abc import Sequence
from typing import Literal

from mlxp_core.reading.stops import StopScanner


class AnswerText:
    """What shows of the answer's text.

    White space at the start, behind a thought and behind a call is held until something follows: before a thought or a
    call it is layout, and at the end of the answer it is layout behind a call.

    Args:
        stops: the stop strings.
        parts: whether the answer may have other parts than text.
    """

    def __init__(self, stops: Sequence[str], *, parts: bool) -> None:
        self._stops = StopScanner(stops)
        self._gap: Literal["none", "start", "call"] = "start" if parts else "none"
        self._space = ""
        self._newlines = False

    @property
    def held(self) -> int:
        """How many characters at the end of the text do not show, or not yet."""
        return len(self._space) + len(self._stops.held)

    @property
    def begun(self) -> bool:
        """Whether there was text, other than white space, since the last part of another kind."""
        return self._gap == "none"

    @property
    def stop(self) -> str | None:
        """The stop string that ended the text."""
        return self._stops.matched

    def feed(self, text: str) -> str:
        """Take more text; return what shows now."""
        if self._newlines:
            text = text.lstrip("\n")
            self._newlines = not text
        if self._gap != "none":
            self._space += text
            if not self._space or self._space.isspace():
                return ""
            text, self._space, self._gap = self._space, "", "none"
        return self._stops.feed(text)

    def pause(self) -> str:
        """A thought or a call begins; return what shows before it."""
        self._space, self._newlines = "", False
        return self._stops.flush()

    def follow_thought(self) -> None:
        """A thought ended: the newlines behind it are layout."""
        self._gap, self._newlines = "start", True

    def follow_call(self) -> None:
        """A call was read."""
        self._gap = "call"

    def finish(self) -> str:
        """The answer ends; return what was held and shows after all."""
        space, self._space = self._space, ""
        return (self._stops.feed(space) if self._gap == "start" else "") + self._stops.flush()
