"""One call written as a JSON object: ``{"name": NAME, "arguments": {...}}``, the members in any order.

A member ``function`` that is an object takes the place of the whole, arguments may be an object or a JSON text that
holds one, and ``parameters`` is understood as well. The name is said as soon as it is read, an object of arguments
while it is read.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mlxp_core.contracts import CallArguments, CallEnd, CallName, CallSign, Malformed
from mlxp_core.reading.scanner import overlap
from mlxp_core.reading.values import decoded, object_json
from mlxp_core.types import ToolSpec

_TURN = re.compile(r'["{}\[\],<]')
_STRING_TURN = re.compile(r'["\\]')
_ARGUMENTS = ("arguments", "parameters")
_CUT = "the answer was cut off in a tool call"
_NO_KEY = "a tool call in JSON needs quoted keys"
_NO_OBJECT = "the arguments of a tool call are no JSON object"


class JsonCall:
    """Reads one call; a ``ToolParser`` for what begins with ``{``.

    Only characters that open, close or separate something are looked at; whether it all is JSON is decided at the end.
    A ``<`` outside strings cannot be JSON, so there the call is over, complete or not. A call that breaks after its
    name was said is read to one of ``stops``, and reported with all its markup.

    Args:
        tools: the tools of the request.
        stops: text that ends the block, such as ``</tool_call>``.
    """

    def __init__(self, tools: Sequence[ToolSpec], stops: Sequence[str]) -> None:
        self._known = frozenset(tool.name for tool in tools)
        self._stops = tuple(stops)
        self._text = ""
        self._at = 0
        self._path: list[str] = []  # the keys under which the open brackets stand
        self._string: int | None = None  # where the open string began
        self._key = ""
        self._wants_key = False
        self._name: str | None = None
        self._start: int | None = None  # where an object of arguments begins
        self._stop: int | None = None  # and ends
        self._sent = 0
        self._why = ""  # it is broken
        self.rest: str | None = None

    def feed(self, text: str) -> list[CallSign]:
        """Take more text; say what became certain."""
        self._text += text
        signs: list[CallSign] = []
        while self.rest is None and self._step(signs):
            pass
        if self.rest is None and not self._why:
            self._stream(signs, len(self._text))
        return signs

    def finish(self, *, cut: bool) -> list[CallSign]:
        """Complete a call that lacks only closing brackets, unless the answer was cut; report anything else."""
        signs: list[CallSign] = []
        if self._why or cut:
            signs.append(Malformed(self._text, self._why or _CUT))
            self.rest = ""
        elif self.rest is None:
            self._end(signs, len(self._text))
        return signs

    def _step(self, signs: list[CallSign]) -> bool:
        """Read to the next character that matters; say whether there was one."""
        if self._why:
            return self._skip(signs)
        if self._string is not None:
            return self._read_string(self._string, signs)
        found = _TURN.search(self._text, self._at)
        before = self._text[self._at : found.start() if found else None].strip()
        if self._wants_key and (before or (found and found.group() not in '"}')):
            self._fail(signs, _NO_KEY)
            return True
        if found is None:
            return False
        self._at = found.end()
        self._turn(found.group(), signs)
        return True

    def _read_string(self, start: int, signs: list[CallSign]) -> bool:
        found = _STRING_TURN.search(self._text, self._at)
        if found is None:
            self._at = len(self._text)
            return False
        if found.group() == "\\":
            whole = found.end() < len(self._text)
            self._at = found.end() + 1 if whole else found.start()
            return whole
        self._at, self._string = found.end(), None
        if self._is_call():
            self._member(decoded(self._text[start : self._at]), signs)
        return True

    def _member(self, value: Any, signs: list[CallSign]) -> None:
        """Take a string that is a key or a value of the call itself."""
        if self._wants_key:
            self._key, self._wants_key = str(value), False
        elif self._key == "name" and self._name is None:
            self._name = str(value).strip()
            if self._name in self._known:
                signs.append(CallName(self._name))

    def _turn(self, character: str, signs: list[CallSign]) -> None:
        match character:
            case '"':
                self._string = self._at - 1
            case "{":
                if self._is_call() and self._key in _ARGUMENTS and self._start is None:
                    self._start = self._at - 1
                self._path.append(self._key)
                self._key, self._wants_key = "", self._is_call()
            case "[":
                self._path.append("[")
            case ",":
                self._wants_key = self._is_call()
            case "<":
                self._end(signs, self._at - 1)
            case _:
                self._close_bracket(signs)

    def _close_bracket(self, signs: list[CallSign]) -> None:
        closed = self._path.pop() if self._path else ""
        if self._start is not None and self._stop is None and self._is_call() and closed in _ARGUMENTS:
            self._stop = self._at
        self._wants_key = False
        if not self._path:
            self._end(signs, self._at)

    def _is_call(self) -> bool:
        """Say whether we are among the members of the call itself."""
        return self._path in ([""], ["", "function"])

    def _stream(self, signs: list[CallSign], upto: int) -> None:
        """Say what is certain of an object of arguments before ``upto``."""
        if self._start is None or self._name not in self._known:
            return
        start = max(self._start, self._sent)
        self._sent = max(start, upto if self._stop is None else self._stop)
        if self._sent > start:
            signs.append(CallArguments(self._text[start : self._sent]))

    def _end(self, signs: list[CallSign], at: int) -> None:
        """The call ends at ``at``: say what it was."""
        text = self._text[:at]
        self._stream(signs, at)
        why = self._fault(text)
        if why:
            signs.append(Malformed(text, why))
        else:
            if self._start is None:
                signs.append(CallArguments(_told(text) or "{}"))
            signs.append(CallEnd())
        self.rest = self._text[at:]

    def _fail(self, signs: list[CallSign], why: str) -> None:
        """It is broken: give it back, or skip what is left of it when its name was said."""
        if self._name in self._known:
            self._stream(signs, self._at)
            self._why = why
            return
        signs.append(Malformed(self._text[: self._at], why))
        self.rest = self._text[self._at :]

    def _skip(self, signs: list[CallSign]) -> bool:
        places = [place for stop in self._stops if (place := self._text.find(stop, self._at)) >= 0]
        if not places:
            self._at = max(self._at, len(self._text) - overlap(self._text, self._stops))
            return False
        signs.append(Malformed(self._text[: min(places)], self._why))
        self.rest = self._text[min(places) :]
        return False

    def _fault(self, text: str) -> str:
        """Say what keeps the text from being a call; empty = nothing."""
        if not self._name:
            return "a tool call without a name"
        if self._name not in self._known:
            return f"the request has no tool named {self._name!r}"
        if self._start is None:
            return "" if _told(text) else _NO_OBJECT
        whole = self._stop is not None and object_json(text[self._start : self._stop]) is not None
        return "" if whole else _NO_OBJECT


def _told(text: str) -> str | None:
    """Return arguments that are not written as an object: a JSON text that holds one, or nothing at all."""
    whole = decoded(text)
    if not isinstance(whole, Mapping):
        return None
    for holder in (whole.get("function"), whole):
        for key in _ARGUMENTS:
            if isinstance(holder, Mapping) and key in holder:
                return _told_object(holder[key])
    return "{}"


def _told_object(value: Any) -> str | None:
    match value:
        case None:
            return "{}"
        case str():
            return object_json(value) if value.strip() else "{}"
        case _:
            return None
