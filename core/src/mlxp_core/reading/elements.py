"""The text between two tags, decoded while it arrives."""

import re

from mlxp_core.reading.scanner import overlap

_CDATA = "<![CDATA["
_CDATA_END = "]]>"
_SPACE = " \t\r\n"
_ENTITY = re.compile(
    r"&(?:#(?P<decimal>[0-9]{1,7})|#x(?P<hex>[0-9a-fA-F]{1,6})|(?P<name>quot|apos|lt|gt|amp));"
)
_ENTITY_BEGUN = re.compile(r"&(?:[a-z]{0,4}|#[0-9]{0,7}|#x[0-9a-fA-F]{0,6})")
_NAMED = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&"}


class ElementText:
    """Reads the content of an element up to the first of several ends.

    With ``markup``, CDATA sections are unwrapped (an end inside one is text) and entities outside them decoded, once
    (``&amp;lt;`` is ``&lt;``). One newline at each edge is layout and goes; other white space stays, except around
    CDATA sections, where all of it is layout.

    Attributes:
        end: the end that was found.
        rest: what stands behind it.
    """

    def __init__(self, ends: tuple[str, ...], *, markup: bool) -> None:
        self._ends = ends
        self._marks = (*ends, _CDATA) if markup else ends
        marks = [*map(re.escape, self._marks), *(["&"] if markup else [])]
        self._pattern = re.compile("|".join(marks))
        self._buffer = ""
        self._edge = _Edge()
        self.inside_cdata = False
        self.end: str | None = None
        self.rest = ""

    def feed(self, text: str) -> str:
        """Take more text; return what of the value is certain now. Not called once ``end`` is set."""
        self._buffer += text
        out: list[str] = []
        while self._buffer and self.end is None and self._step(out):
            pass
        return "".join(out)

    def finish(self) -> str:
        """The text ended before the element did; return what is left, without the beginning of a closing tag."""
        last = "" if self._buffer.startswith("</") else self._buffer
        self._buffer = ""
        return self._edge.plain(last) + self._edge.close()

    def _step(self, out: list[str]) -> bool:
        """Read up to the next thing of interest; say whether to go on."""
        if self.inside_cdata:
            return self._read_cdata(out)
        found = self._pattern.search(self._buffer)
        if found is None:
            self._take(len(self._buffer) - overlap(self._buffer, self._marks), out)
            return False
        self._take(found.start(), out)
        mark = found.group()
        if mark == "&":
            return self._read_entity(out)
        self._buffer = self._buffer[len(mark) :]
        if mark == _CDATA:
            self.inside_cdata = True
            out.append(self._edge.begin_cdata())
            return True
        self.end, self.rest, self._buffer = mark, self._buffer, ""
        out.append(self._edge.close())
        return False

    def _take(self, length: int, out: list[str]) -> None:
        out.append(self._edge.plain(self._buffer[:length]))
        self._buffer = self._buffer[length:]

    def _read_cdata(self, out: list[str]) -> bool:
        content, found, behind = self._buffer.partition(_CDATA_END)
        if found:
            self.inside_cdata = False
            self._buffer = behind
        else:
            certain = len(content) - overlap(content, (_CDATA_END,))
            content, self._buffer = content[:certain], content[certain:]
        out.append(content)
        return bool(found)

    def _read_entity(self, out: list[str]) -> bool:
        found = _ENTITY.match(self._buffer)
        if found is not None:
            out.append(self._edge.solid(_character(found)))
            self._buffer = self._buffer[found.end() :]
            return True
        if _ENTITY_BEGUN.fullmatch(self._buffer):
            return False
        self._take(1, out)
        return True


class _Edge:
    """Decides which white space at the edges of a value is layout."""

    def __init__(self) -> None:
        self._space = ""
        self._seen = ""

    def plain(self, text: str) -> str:
        """Take text; return it without white space that may be at the edge."""
        text = self._space + text
        body = text.rstrip(_SPACE)
        self._space = text[len(body) :]
        return self._begin(body) if body else ""

    def solid(self, text: str) -> str:
        """Take a decoded entity, which is never layout."""
        text, self._space = self._space + text, ""
        return self._begin(text)

    def begin_cdata(self) -> str:
        """A CDATA section begins: white space before the first one is layout."""
        space, self._space = self._space, ""
        first, self._seen = not self._seen, "cdata" if self._seen != "text" else "text"
        return "" if first else space

    def close(self) -> str:
        """The value ends; return the white space that belongs to it."""
        space, self._space = self._space, ""
        match self._seen:
            case "cdata":
                return ""
            case "text":
                return space.removesuffix("\n")
            case _:
                return space.removeprefix("\n").removesuffix("\n")

    def _begin(self, text: str) -> str:
        seen, self._seen = self._seen, "text"
        return text if seen else text.removeprefix("\n")


def _character(entity: re.Match[str]) -> str:
    """Return the character of an entity; what is no character stays as written."""
    if entity["name"]:
        return _NAMED[entity["name"]]
    code = int(entity["decimal"]) if entity["decimal"] else int(entity["hex"], 16)
    return entity.group() if code == 0 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF else chr(code)  # noqa: PLR2004 - surrogates are no characters
