"""A block of calls: a wrapper, calls one after the other, the wrapper's end."""

from collections.abc import Callable, Iterable, Mapping

from mlxp_core.contracts import CallEnd, CallName, CallSign, Malformed, ToolParser
from mlxp_core.reading.scanner import might_begin


class CallBlock:
    """A ``ToolParser`` that hands each call to the reader that knows its form.

    A call outside any wrapper is a block of its own. Inside one, white space between calls means nothing, and the
    wrapper's end may be missing. A wrapper around no call is no block: its text comes back. When a call comes back as
    text, so does the wrapper around it.

    Args:
        wrappers: opening marker -> closing marker.
        calls: how a call begins -> makes the reader of one call.
    """

    def __init__(self, wrappers: Mapping[str, str], calls: Mapping[str, Callable[[], ToolParser]]) -> None:
        self._wrappers = dict(wrappers)
        self._calls = dict(calls)
        self._end: str | None = None
        self._call: ToolParser | None = None
        self._buffer = ""
        self._markup = ""  # of the wrapper, since the last call
        self._named = False
        self._calls_read = 0
        self._spoiled: str | None = None  # why the last call came back as text
        self.rest: str | None = None

    def feed(self, text: str) -> list[CallSign]:
        """Take more text; say what became certain."""
        self._buffer += text
        signs: list[CallSign] = []
        while self.rest is None and self._step(signs):
            pass
        return signs

    def finish(self, *, cut: bool) -> list[CallSign]:
        """Finish the call that is open; give back a wrapper around no call."""
        signs: list[CallSign] = []
        if self._call is not None:
            self._take(self._call.finish(cut=cut), signs)
        left = self._markup + self._buffer
        if left and (self._spoiled or not self._calls_read):
            signs.append(Malformed(left, self._spoiled or "tool-call markup around no call"))
        self._markup = self._buffer = ""
        return signs

    def _step(self, signs: list[CallSign]) -> bool:
        """Go on by one piece of the block; say whether there may be another."""
        if self._call is not None:
            return self._read_call(self._call, signs)
        body = self._buffer.lstrip()
        if self._end is not None and body.startswith(self._end):
            self._close(body, signs)
        elif self._begins(body):
            return True
        elif body and not might_begin(body, (self._end or "", *self._calls, *self._wrappers)):
            self._leave(body, signs)
        return False

    def _begins(self, body: str) -> bool:
        """Begin a call or a wrapper, if one begins here."""
        for begin, make in self._calls.items():
            if body.startswith(begin):
                self._advance(body, 0)
                self._call = make()
                return True
        for begin, end in self._wrappers.items():
            if body.startswith(begin):
                self._advance(body, len(begin))
                self._end = end
                return True
        return False

    def _read_call(self, call: ToolParser, signs: list[CallSign]) -> bool:
        text, self._buffer = self._buffer, ""
        if not text:
            return False
        self._take(call.feed(text), signs)
        if call.rest is None:
            return False
        self._call, self._buffer = None, call.rest
        if self._end is None:
            self.rest = self._buffer
        return self.rest is None

    def _take(self, said: Iterable[CallSign], signs: list[CallSign]) -> None:
        """Pass on what a call's reader says, with the wrapper's text where it is needed."""
        for sign in said:
            match sign:
                case CallName():
                    self._named, self._spoiled, self._markup = True, None, ""
                    signs.append(sign)
                case CallEnd():
                    self._named = False
                    self._calls_read += 1
                    signs.append(sign)
                case Malformed(text=text, why=why) if not self._named:
                    signs.append(Malformed(self._markup + text, why))
                    self._spoiled, self._markup = why, ""
                case Malformed():
                    self._named = False
                    self._calls_read += 1
                    signs.append(sign)
                case _:
                    signs.append(sign)

    def _advance(self, body: str, length: int) -> None:
        """Count white space and ``length`` more characters as the wrapper's."""
        cut = len(self._buffer) - len(body) + length
        self._markup, self._buffer = self._markup + self._buffer[:cut], self._buffer[cut:]

    def _close(self, body: str, signs: list[CallSign]) -> None:
        """The wrapper ends."""
        self._advance(body, len(self._end or ""))
        self.rest, self._buffer = self._buffer, ""
        if self._spoiled is not None or not self._calls_read:
            signs.append(Malformed(self._markup, self._spoiled or "tool-call markup around no call"))

    def _leave(self, body: str, signs: list[CallSign]) -> None:
        """Something follows that belongs to no block: it is over, if it ever was one."""
        if self._calls_read and self._spoiled is None:
            self.rest, self._buffer = self._buffer, ""
            return
        self._advance(body, 0)
        signs.append(Malformed(self._markup, self._spoiled or "tool-call markup around no call"))
        self.rest, self._buffer = self._buffer, ""
