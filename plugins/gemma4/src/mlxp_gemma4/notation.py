"""The arguments of a call in Gemma's own notation, turned into JSON while they are read.

The notation is JSON with bare keys and with strings between ``<|"|>`` marks, where nothing is escaped:
``{guests:4,notes:<|"|>window {if free}, "quiet"<|"|>,tags:[<|"|>a<|"|>,true]}``. Small models mix in what they know
from elsewhere; as long as it is clear what is meant, it is understood:

* Keys and strings may stand between plain quotes, with JSON's escapes. Such a string is read as a whole.
* A bare value that is no JSON is a Python literal or text; a bare number is text where the schema says so.
* A marked string where the schema permits none is read like a bare value.
* White space between things means nothing, and a comma may stand behind the last one.

Marked strings go out as they grow, brackets and commas at once, other values when they are complete.
"""

import re
from collections.abc import Callable
from enum import Enum, auto

import msgspec

from mlxp_core.reading import Types, might_begin, overlap, parameter_types, quoted, value_json
from mlxp_core.types import ToolSpec

MARK = '<|"|>'
"""Begins and ends a string."""

_DEEPEST = 64  # brackets; far beyond what a tool takes, far below what a JSON reader takes
_KEY_END = re.compile(r'[:,{}\[\]"<]')
_VALUE_END = re.compile(r"[,{}\[\]]|<\|")
_QUOTE_TURN = re.compile(r'["\\]')
_CONTROL = re.compile(r"[\x00-\x1f]")
_CLOSER = {"{": "}", "[": "]"}


class _State(Enum):
    KEY = auto()
    COLON = auto()
    VALUE = auto()
    MARKED = auto()
    QUOTED = auto()
    AFTER = auto()
    OVER = auto()


class ObjectReader:
    """Reads the arguments of one call, from their opening brace, where the text has to begin, to their closing one.

    Args:
        tool: the tool that is called; its schema guides values that could mean several things.

    Attributes:
        rest: what stands behind the object, once it is over; what was not read, once it is broken.
        why: what broke it; empty = nothing so far.
    """

    def __init__(self, tool: ToolSpec) -> None:
        self._tool = tool
        self._buffer = ""
        self._scanned = 0  # of the buffer: the value or key that is being read does not end before
        self._closers: list[str] = []  # of the brackets that are open
        self._first = True  # nothing stands in the innermost bracket yet
        self._state = _State.VALUE
        self._types: Types = None  # what the schema permits for the value
        self._last_key = ""  # its JSON
        self._key = False  # the string being read is a key
        self._held: list[str] | None = None  # the string being read, where it cannot go out as it grows
        self.rest: str | None = None
        self.why = ""

    def feed(self, text: str) -> str:
        """Take more text; return the JSON that became certain. Not called once ``rest`` is set."""
        self._buffer += text
        out: list[str] = []
        steps: dict[_State, Callable[[list[str]], bool]] = {
            _State.KEY: self._read_key,
            _State.COLON: self._read_colon,
            _State.VALUE: self._read_value,
            _State.MARKED: self._read_marked,
            _State.QUOTED: self._read_quoted,
            _State.AFTER: self._read_after,
        }
        while self._ready() and steps[self._state](out):
            pass
        return "".join(out)

    def _ready(self) -> bool:
        """Say whether there is something to read; between things, white space means nothing."""
        match self._state:
            case _State.OVER:
                return False
            case _State.MARKED | _State.QUOTED:
                return True
            case _:
                self._buffer = self._buffer.lstrip()
                return bool(self._buffer) and not might_begin(self._buffer, (MARK,))

    # ── Keys ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_key(self, out: list[str]) -> bool:
        if self._buffer[0] == "}":
            return self._close(out)
        if self._begins_string(key=True):
            return True
        found = _KEY_END.search(self._buffer, self._scanned)
        if found is None:
            self._scanned = len(self._buffer)
            return False
        key = self._buffer[: found.start()].strip()
        if found.group() != ":" or not key:
            return self._fail("a key is missing in the arguments of a tool call")
        self._advance(found.start())
        return self._name(quoted(key))

    def _name(self, key: str) -> bool:
        """A key was read; ``key`` is its JSON."""
        self._last_key, self._state = key, _State.COLON
        return True

    def _read_colon(self, out: list[str]) -> bool:
        if self._buffer[0] != ":":
            return self._fail("a colon is missing in the arguments of a tool call")
        self._advance(1)
        key, self._state = self._last_key, _State.VALUE
        if len(self._closers) == 1:
            self._types = parameter_types(self._tool, msgspec.json.decode(key, type=str))
        out.append(f"{self._lead()}{key}: ")
        return True

    # ── Values ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_value(self, out: list[str]) -> bool:
        mark = self._buffer[0]
        if mark in _CLOSER:
            return self._open(mark, out)
        if mark == "]":
            return self._close(out)
        if self._begins_string(key=False):
            if self._held is None:
                out.append(f'{self._array_lead()}"')
            return True
        return self._read_bare(out)

    def _read_bare(self, out: list[str]) -> bool:
        found = _VALUE_END.search(self._buffer, self._scanned)
        if found is None:
            self._scanned = len(self._buffer) - self._buffer.endswith("<")
            return False
        text = self._buffer[: found.start()].strip()
        if not text or found.group() not in ",]}":
            return self._fail("a value is missing or unreadable in the arguments of a tool call")
        self._advance(found.start())
        # strings have marks of their own, so a bare null is one even where the schema asks for text
        out.append(self._array_lead() + (text if text == "null" else value_json(text, self._types)))
        return self._complete()

    def _open(self, mark: str, out: list[str]) -> bool:
        if len(self._closers) == _DEEPEST:
            return self._fail(f"the arguments of a tool call are nested deeper than {_DEEPEST} brackets")
        out.append(self._array_lead() + mark)
        self._advance(1)
        self._closers.append(_CLOSER[mark])
        self._first, self._types = True, None
        self._state = _State.KEY if mark == "{" else _State.VALUE
        return True

    def _close(self, out: list[str]) -> bool:
        if self._buffer[0] != self._closers[-1]:
            return self._fail("a bracket is closed that is not open in the arguments of a tool call")
        out.append(self._closers.pop())
        self._advance(1)
        return self._complete()

    def _complete(self) -> bool:
        """A value is complete."""
        self._first, self._types = False, None
        self._state = _State.AFTER
        if not self._closers:
            self._state, self.rest, self._buffer = _State.OVER, self._buffer, ""
        return True

    def _read_after(self, out: list[str]) -> bool:
        if self._buffer[0] != ",":
            return self._close(out)
        self._advance(1)
        self._state = _State.KEY if self._closers[-1] == "}" else _State.VALUE
        return True

    # ── Strings ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _begins_string(self, *, key: bool) -> bool:
        """Begin a string, if one begins here."""
        self._key = key
        if self._buffer[0] == '"':
            self._state, self._scanned, self._held = _State.QUOTED, 1, []
            return True
        if not self._buffer.startswith(MARK):
            return False
        fits = self._types is None or "string" in self._types
        self._state, self._held = _State.MARKED, None if fits and not key else []
        self._advance(len(MARK))
        return True

    def _read_marked(self, out: list[str]) -> bool:
        text, found, behind = self._buffer.partition(MARK)
        certain = len(text) if found else len(text) - overlap(text, (MARK,))
        piece, self._buffer = text[:certain], behind if found else text[certain:]
        if self._held is None:
            out.append(quoted(piece)[1:-1] + ('"' if found else ""))
            return self._complete() if found else False
        self._held.append(piece)
        if not found:
            return False
        text = "".join(self._held)
        return self._end_string(quoted(text) if self._key else value_json(text, self._types), out)

    def _read_quoted(self, out: list[str]) -> bool:
        found = _QUOTE_TURN.search(self._buffer, self._scanned)
        if found is None:
            self._scanned = len(self._buffer)
            return False
        if found.group() == "\\":
            whole = found.end() < len(self._buffer)
            self._scanned = found.end() + 1 if whole else found.start()
            return whole
        text = self._buffer[: found.end()]
        self._advance(found.end())
        return self._end_string(_plain_string(text), out)

    def _end_string(self, json: str, out: list[str]) -> bool:
        """A string that was held is complete; ``json`` is what it means."""
        if self._key:
            return self._name(json)
        out.append(self._array_lead() + json)
        return self._complete()

    # ── Shared ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _lead(self) -> str:
        return "" if self._first else ", "

    def _array_lead(self) -> str:
        """Return what stands before a value: nothing behind a key."""
        return self._lead() if self._closers[-1:] == ["]"] else ""

    def _advance(self, length: int) -> None:
        self._buffer, self._scanned = self._buffer[length:], 0

    def _fail(self, why: str) -> bool:
        self._state, self.rest, self.why = _State.OVER, self._buffer, why
        return False


def _plain_string(text: str) -> str:
    """Return the JSON of a string between plain quotes; escapes that JSON does not know stand for themselves."""
    spelled = _CONTROL.sub(lambda found: quoted(found.group())[1:-1], text)
    return spelled if value_json(spelled, None) == spelled else quoted(text[1:-1])
