"""One call written as tags around names and values.

Two styles are about: ``<function name="NAME"><param name="KEY">VALUE</param></function>`` with CDATA and entities, and
``<function=NAME><parameter=KEY>VALUE</parameter></function>`` with raw values. The rules are the same for both:

* The name is said as soon as its tag is complete; parameters follow as fragments.
* Text that cannot be the tag any more is not a call, at once.
* A tool that the request does not have is no call; it is read to its end all the same, so that nothing inside it is
  mistaken for something else, and comes back as text.
* A value also ends where its closing tag is missing: at the end of the call, or where the next parameter begins.
* A call that breaks after its name was said is read to its end, and reported with all its markup.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum, auto

from msgspec import Struct

from mlxp_core.contracts import CallArguments, CallEnd, CallName, CallSign, Malformed
from mlxp_core.reading.elements import ElementText
from mlxp_core.reading.scanner import might_begin, overlap
from mlxp_core.reading.values import ArgumentWriter
from mlxp_core.types import ToolSpec


class Tag(Struct, frozen=True):
    """An opening tag that carries a name.

    Attributes:
        opener: how it begins, such as ``<function``.
        whole: the complete tag, with one group that took part: the name.
        begun: any beginning of one, without its last character.
    """

    opener: str
    whole: re.Pattern[str]
    begun: re.Pattern[str]


class TagStyle(Struct, frozen=True, kw_only=True):
    """How a family writes a call as tags.

    Attributes:
        call: the tag that begins a call.
        call_end: what ends it.
        parameter: the tag that begins a parameter.
        parameter_end: what ends it.
        next_parameter: text within a value that can only be the next parameter.
        markup: whether values have entities and CDATA sections.
    """

    call: Tag
    call_end: str
    parameter: Tag
    parameter_end: str
    next_parameter: str
    markup: bool


def attribute_tag(opener: str) -> Tag:
    """Return the tag ``<opener name="NAME">``; quotes may be single."""
    word = ""
    for letter in reversed("name"):  # any beginning of: name = "NAME"
        word = rf"(?:{letter}{word or _QUOTED_BEGUN})?"
    return Tag(
        opener,
        re.compile(rf"{re.escape(opener)}\s+name\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')\s*>"),
        re.compile(rf"{re.escape(opener)}(?:\s+{word})?"),
    )


def equals_tag(opener: str) -> Tag:
    """Return the tag ``<opener=NAME>``."""
    start = re.escape(opener)
    return Tag(opener, re.compile(rf"{start}\s*=([^<>\n]*)>"), re.compile(rf"{start}\s*(?:=[^<>\n]*)?"))


_QUOTED_BEGUN = r"""\s*(?:=\s*(?:"[^"<>]*(?:"\s*)?|'[^'<>]*(?:'\s*)?)?)?"""

ATTRIBUTE_TAGS = TagStyle(
    call=attribute_tag("<function"),
    call_end="</function>",
    parameter=attribute_tag("<param"),
    parameter_end="</param>",
    next_parameter="<param name=",
    markup=True,
)
EQUALS_TAGS = TagStyle(
    call=equals_tag("<function"),
    call_end="</function>",
    parameter=equals_tag("<parameter"),
    parameter_end="</parameter>",
    next_parameter="<parameter=",
    markup=False,
)


class _State(Enum):
    HEAD = auto()
    BETWEEN = auto()
    VALUE = auto()
    LOST = auto()
    DONE = auto()


class TaggedCall:
    """Reads one call; a ``ToolParser`` for what begins with the opening tag of one of ``styles``.

    Args:
        styles: the styles to expect.
        tools: the tools of the request.
        stops: text that cannot be part of a call, such as the end of the block: it ends the call without its own end.
    """

    def __init__(self, styles: Sequence[TagStyle], tools: Sequence[ToolSpec], stops: Sequence[str]) -> None:
        self._styles = tuple(styles)
        self._style = self._styles[0]
        self._tools = {tool.name: tool for tool in tools}
        self._stops = tuple(stops)
        self._state = _State.HEAD
        self._said: list[str] = []
        self._buffer = ""
        self._unknown: str | None = None
        self._why = ""
        self._writer: ArgumentWriter
        self._value: ElementText
        self.rest: str | None = None

    def feed(self, text: str) -> list[CallSign]:
        """Take more text; say what became certain."""
        self._said.append(text)
        self._buffer += text
        signs: list[CallSign] = []
        steps: dict[_State, Callable[[list[CallSign]], bool]] = {
            _State.HEAD: self._read_head,
            _State.BETWEEN: self._read_between,
            _State.VALUE: self._read_value,
            _State.LOST: self._read_lost,
        }
        while self._state is not _State.DONE and steps[self._state](signs):
            pass
        return signs

    def finish(self, *, cut: bool) -> list[CallSign]:
        """Complete what lacks only closing tags, unless the answer was cut; report anything else."""
        signs: list[CallSign] = []
        if self._state is _State.DONE:
            return signs
        whole = not cut and self._completes(signs)
        self._buffer = ""
        if whole:
            self._end(signs)
        elif self._state is _State.LOST:
            self._end_lost(signs, "")
        else:
            self._fail("the answer was cut off in a tool call" if cut else "the tool call has no end")
            self._end_lost(signs, "")
        return signs

    def _completes(self, signs: list[CallSign]) -> bool:
        """Close an open value when only closing tags are missing; say whether the call is whole then."""
        match self._state:
            case _State.VALUE if not self._value.inside_cdata:
                self._argue(signs, self._writer.write(self._value.finish()) + self._writer.close())
                return True
            case _State.BETWEEN:
                left = self._buffer.strip()
                return not left or might_begin(left, (self._style.call_end, *self._stops))
            case _:
                return False

    def _read_head(self, signs: list[CallSign]) -> bool:
        for style in self._styles:
            found = style.call.whole.match(self._buffer)
            if found is not None:
                self._style = style
                self._begin(found.group(found.lastindex or 0).strip().strip("\"'").strip(), signs)
                self._buffer = self._buffer[found.end() :]
                self._state = _State.BETWEEN
                return True
            if style.call.begun.fullmatch(self._buffer) or might_begin(self._buffer, (style.call.opener,)):
                return False
        opener = self._style.call.opener
        signs.append(Malformed(opener, "this is not the opening tag of a tool call"))
        self._state, self.rest = _State.DONE, self._buffer[len(opener) :]
        return False

    def _begin(self, name: str, signs: list[CallSign]) -> None:
        tool = self._tools.get(name)
        if tool is None:
            self._unknown = name
        else:
            signs.append(CallName(name))
        self._writer = ArgumentWriter(tool or ToolSpec(name))

    def _read_between(self, signs: list[CallSign]) -> bool:
        style = self._style
        self._buffer = self._buffer.lstrip()
        if self._buffer.startswith(style.call_end):
            self._buffer = self._buffer[len(style.call_end) :]
            self._end(signs)
            return False
        if self._buffer.startswith(self._stops or ("\0",)) or self._begins_another():
            self._end(signs)
            return False
        found = style.parameter.whole.match(self._buffer)
        if found is not None:
            key = found.group(found.lastindex or 0).strip()
            self._buffer = self._buffer[found.end() :]
            if key:
                self._open(key, signs)
            else:
                self._fail("a parameter of the tool call has no name")
            return True
        expected = (style.call_end, style.parameter.opener, style.call.opener, *self._stops)
        if not self._buffer or might_begin(self._buffer, expected):
            return False
        begun = (style.parameter.begun, *(other.call.begun for other in self._styles))
        if any(pattern.fullmatch(self._buffer) for pattern in begun):
            return False
        self._fail("text between the parameters of a tool call")
        return True

    def _begins_another(self) -> bool:
        return any(style.call.whole.match(self._buffer) for style in self._styles)

    def _open(self, key: str, signs: list[CallSign]) -> None:
        style = self._style
        ends = (style.parameter_end, style.call_end, style.next_parameter, *self._stops)
        self._value = ElementText(ends, markup=style.markup)
        self._argue(signs, self._writer.open(key))
        self._state = _State.VALUE

    def _read_value(self, signs: list[CallSign]) -> bool:
        fragment = self._writer.write(self._value.feed(self._buffer))
        self._buffer = ""
        end = self._value.end
        if end is None:
            self._argue(signs, fragment)
            return False
        self._argue(signs, fragment + self._writer.close())
        missing = end != self._style.parameter_end
        self._buffer = (end if missing else "") + self._value.rest
        self._state = _State.BETWEEN
        return True

    def _read_lost(self, signs: list[CallSign]) -> bool:
        """Skip to the end of a call that is broken."""
        ends = (self._style.call_end, *self._stops)
        found = re.search("|".join(map(re.escape, ends)), self._buffer)
        if found is None:
            self._buffer = self._buffer[len(self._buffer) - overlap(self._buffer, ends) :]
            return False
        own = found.group() == self._style.call_end
        self._end_lost(signs, self._buffer[found.end() if own else found.start() :])
        return False

    def _argue(self, signs: list[CallSign], fragment: str) -> None:
        if fragment and self._unknown is None:
            signs.append(CallArguments(fragment))

    def _fail(self, why: str) -> None:
        self._why = self._why or why
        self._state = _State.LOST

    def _end(self, signs: list[CallSign]) -> None:
        if self._unknown is not None:
            self._end_lost(signs, self._buffer)
            return
        self._argue(signs, self._writer.end())
        signs.append(CallEnd())
        self._state, self.rest = _State.DONE, self._buffer

    def _end_lost(self, signs: list[CallSign], rest: str) -> None:
        said = "".join(self._said)
        unknown = f"the request has no tool named {self._unknown!r}" if self._unknown is not None else ""
        signs.append(Malformed(said[: len(said) - len(rest)], unknown or self._why))
        self._state, self.rest = _State.DONE, rest
