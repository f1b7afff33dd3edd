"""How a family writes thinking and tool calls."""

from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct

from mlxp_core.types import Grammar, ToolChoice, ToolSpec


class ThinkingFormat(Struct, frozen=True, kw_only=True):
    """Thinking between two markers; one newline behind the first and one before the second are layout.

    Attributes:
        name: unique.
        open: marker that begins thinking.
        close: marker that ends it.
        header: text swallowed right after ``open`` when present, such as a channel name with its newline.
        switch: the template argument that turns thinking on and off; ``None`` = it cannot be switched.
    """

    name: str
    open: str
    close: str
    header: str = ""
    switch: str | None = None


class CallName(Struct, frozen=True, gc=False):
    """A call begins, and this is its name."""

    name: str


class CallArguments(Struct, frozen=True, gc=False):
    """A fragment of the arguments as JSON text."""

    json: str


class CallEnd(Struct, frozen=True, gc=False):
    """The call is complete; its fragments join to a JSON object."""


class Malformed(Struct, frozen=True, gc=False):
    """This much markup was not a call after all (or, after ``CallName``, the call that began is broken)."""

    text: str
    why: str


CallSign = CallName | CallArguments | CallEnd | Malformed


class ToolParser(Protocol):
    """Reads one block of calls, from its opening marker to the end of the block. It never raises on text.

    A call whose name is no tool of the request is not a call: its markup comes back as ``Malformed``, and the block
    goes on. Nothing is lost: what belongs to no call comes back as ``Malformed``, white space between calls aside.
    """

    rest: str | None
    """``None`` while inside the block; afterwards the text behind it, to be read as ordinary text."""

    def feed(self, text: str) -> Iterable[CallSign]:
        """Take more text, the opening marker first; say what became certain. Not called once ``rest`` is set."""
        ...

    def finish(self, *, cut: bool) -> Iterable[CallSign]:
        """The text ended inside the block: complete what is complete, report the remainder as ``Malformed``.

        Args:
            cut: the answer was cut off (token limit, cancelled), so a call without its end is not complete; otherwise
                the model itself ended the answer, and a call that only lacks its closing markup may count.
        """
        ...


class ToolFormat(Struct, frozen=True, kw_only=True):
    """A family's markup for tool calls.

    Attributes:
        name: unique.
        openers: markers that begin a block of calls.
        keeps: further special tokens that must stay visible inside a block (string quotes, closers).
        parser: makes a parser for one block, knowing the tools of the request.
        grammar: one or more calls in this markup, whose arguments the tools' schemas accept; absent = calls cannot
            be forced. It raises ``BadRequest`` where a schema cannot be met in the markup.
    """

    name: str
    openers: tuple[str, ...]
    parser: Callable[[tuple[ToolSpec, ...]], ToolParser]
    keeps: tuple[str, ...] = ()
    grammar: Callable[[tuple[ToolSpec, ...], ToolChoice], Grammar] | None = None
