"""From what a family's parser says to the events of calls; the one place where a parser's own failure is caught.

The grammar of a call holds whatever a parser does: a name, fragments that join to a JSON object, an end. A parser that
raises or breaks the grammar is not asked again: its block comes back as text, with a warning, and so does all markup
after it.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence

from mlxp_core.contracts import CallArguments, CallEnd, CallName, CallSign, Malformed, ToolFormat, ToolParser
from mlxp_core.reading.values import object_json
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    GenerateRequest,
    TextDelta,
    ToolSpec,
)


def random_call_id() -> str:
    """Return a fresh id: ``call_`` and 24 hexadecimal digits."""
    return f"call_{secrets.token_hex(12)}"


def callable_tools(request: GenerateRequest) -> tuple[ToolSpec, ...]:
    """Return the tools that may be called in this request."""
    match request.tool_choice.mode:
        case "none":
            return ()
        case "one":
            return tuple(tool for tool in request.tools if tool.name == request.tool_choice.name)
        case _:
            return request.tools


class CallReader:
    """The calls of one answer.

    Attributes:
        able: whether blocks may be begun: not without a format, nor after its parser failed.
        done: how many calls were completed.
        cut: whether a call was broken because the answer ended within it.
        warnings: what went wrong, each once.
    """

    def __init__(
        self,
        markup: ToolFormat | None,
        tools: Sequence[ToolSpec],
        *,
        choice: int = 0,
        new_id: Callable[[], str] = random_call_id,
    ) -> None:
        self._markup = markup
        self._tools = tuple(tools)
        self._names = frozenset(tool.name for tool in tools)
        self._choice = choice
        self._new_id = new_id
        self._parser: ToolParser | None = None
        self._text: list[str] = []  # of the block, since the last call
        self._length = 0  # of the block so far
        self._index = -1
        self._arguments: list[str] | None = None  # of the call that is open
        self.able = markup is not None and bool(tools)
        self.done = 0
        self.cut = False
        self.warnings: list[str] = []

    @property
    def open(self) -> bool:
        """Whether a block of calls is being read."""
        return self._parser is not None

    def begin(self, opener: str) -> list[Event]:
        """Begin a block with its opening marker. ``TextDelta`` among the events is markup that comes back as text."""
        assert self._markup is not None  # noqa: S101 - only formats have openers
        events: list[Event] = []
        try:
            self._parser = self._markup.parser(self._tools)
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the request down
            self._text.append(opener)
            self._give_up(error, events)
            return events
        events, rest = self.feed(opener)
        return [*events, TextDelta(rest, self._choice)] if rest else events

    def feed(self, text: str) -> tuple[list[Event], str | None]:
        """Take more text of the block.

        Returns:
            The events, and the text behind the block once it is over.
        """
        parser, rest = self._parser, None
        assert parser is not None  # noqa: S101 - a block is open
        self._text.append(text)
        self._length += len(text)
        events: list[Event] = []
        self._hear(lambda: parser.feed(text), events)
        if self._parser is None:
            return events, ""
        rest = parser.rest
        if rest is not None:
            rest = (
                rest[-(self._length - 1) :] if self._length > 1 else ""
            )  # a block is never empty: reading goes on
            self._close(rest, events)
        return events, rest

    def finish(self, *, cut: bool) -> list[Event]:
        """The answer ends; whatever is open is completed or comes back."""
        parser = self._parser
        events: list[Event] = []
        if parser is None:
            return events
        self._hear(lambda: parser.finish(cut=cut), events)
        self.cut = any(isinstance(event, CallBroken) for event in events)
        self._close("", events)
        return events

    def _hear(self, ask: Callable[[], Iterable[CallSign]], events: list[Event]) -> None:
        try:
            for sign in ask():
                self._take(sign, events)
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the request down
            self._give_up(error, events)

    def _take(self, sign: CallSign, events: list[Event]) -> None:
        match sign:
            case CallName(name=name):
                if self._arguments is not None or name not in self._names:
                    raise ValueError(f"it named a call {name!r} out of turn or unknown to the request")
                self._index += 1
                self._arguments = []
                events.append(CallStarted(self._index, self._new_id(), name, self._choice))
            case CallArguments(json=fragment):
                if self._arguments is None:
                    raise ValueError("it gave arguments of no call")
                if fragment:
                    self._arguments.append(fragment)
                    events.append(CallDelta(self._index, fragment, self._choice))
            case CallEnd():
                self._complete(events)
            case Malformed(text=text, why=why):
                self._give_back(text, why, events)

    def _complete(self, events: list[Event]) -> None:
        if self._arguments is None or object_json("".join(self._arguments)) is None:
            raise ValueError("it ended a call whose arguments are no JSON object")
        self._arguments = None
        self._text.clear()
        self.done += 1
        events.append(CallDone(self._index, self._choice))

    def _give_back(self, text: str, why: str, events: list[Event]) -> None:
        """A call is broken, or markup was no call."""
        if self._arguments is not None:
            self._arguments = None
            events.append(CallBroken(self._index, text, why, self._choice))
            self._warn(f"tool call {self._index} is malformed: {why}")
        elif text:
            events.append(TextDelta(text, self._choice))
            self._warn(f"tool-call markup is shown as text: {why}")
        self._text.clear()

    def _close(self, rest: str, events: list[Event]) -> None:
        """The block is over; a call that its parser left open is broken."""
        self._parser, self._length = None, 0
        if self._arguments is not None:
            text = "".join(self._text)
            self._give_back(text[: len(text) - len(rest)], "its parser did not end it", events)
        self._text.clear()

    def _give_up(self, error: Exception, events: list[Event]) -> None:
        """The parser failed: read no more calls in this answer."""
        self._parser, self._length, self.able = None, 0, False
        name = self._markup.name if self._markup is not None else ""
        self._give_back("".join(self._text), f"the parser of the format {name!r} failed: {error!r}", events)

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
