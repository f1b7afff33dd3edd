"""One choice's tokens to events.

The way of a token: it becomes text; markers in the text switch between answer, thinking and calls; what belongs to the
answer passes the stop strings. The rules:

* A marker that is one token of this tokenizer counts as that token only; the same letters written out are text. Other
  markers are found in the text.
* A marker that means nothing where it stands is read like any other token: special ones are no text, others show as
  they are. The marks of tool calls always show, so that markup that is no call stays readable.
* In an answer that has a shape, nothing is thought once it has begun, and no call stands behind text, unless mixed.
* Text is held back only while it may become something else, and every character is settled once, in order.
"""

from collections.abc import Callable

from msgspec import Struct

from mlxp_core.contracts import ThinkingFormat, ToolFormat
from mlxp_core.reading.answer import AnswerText
from mlxp_core.reading.calls import CallReader, callable_tools, random_call_id
from mlxp_core.reading.detokenize import Detokenizer, TokenTable, marker_tokens
from mlxp_core.reading.ledger import Ledger
from mlxp_core.reading.scanner import MarkerScanner
from mlxp_core.reading.thought import ThoughtText
from mlxp_core.types import (
    CallDone,
    Event,
    GenerateRequest,
    RawScore,
    Reason,
    TextDelta,
    ThinkingDelta,
)

_EVERYTHING = 1 << 62


class End(Struct, frozen=True, gc=False):
    """Why a choice ended, and the stop string that ended it, if one did."""

    reason: Reason
    stop: str | None = None


class Reader:
    """Reads one choice.

    Args:
        request: what was asked: its tools, tool choice and stop strings matter here.
        table: the tokenizer.
        end_tokens: tokens that end the answer.
        thinking: how the model writes thinking; ``None`` = it does not.
        tools: how the model writes calls; ``None`` = it does not.
        inside_thinking: whether the prompt ends inside a thinking block.
        choice: the number of the choice.
        new_id: makes the ids of calls.

    Attributes:
        end: set as soon as the text itself ended the choice.
        thinking: what comes next is thinking.
        completion_tokens: tokens fed so far, the end token included.
        warnings: diagnostics for the client.
    """

    def __init__(
        self,
        request: GenerateRequest,
        *,
        table: TokenTable,
        end_tokens: frozenset[int],
        thinking: ThinkingFormat | None = None,
        tools: ToolFormat | None = None,
        inside_thinking: bool = False,
        choice: int = 0,
        new_id: Callable[[], str] = random_call_id,
    ) -> None:
        self.end: End | None = None
        self.completion_tokens = 0
        self._choice = choice
        self._special = table.special_tokens
        self._end_tokens = end_tokens
        self._detokenizer = Detokenizer(table)
        self._ledger = Ledger(table, choice)
        self._calls = CallReader(tools, callable_tools(request), choice=choice, new_id=new_id)
        self._parallel = request.tool_choice.parallel
        self._shaped, self._mixed = request.output.kind != "text", request.output.mixed
        self._open, self._close = (thinking.open, thinking.close) if thinking is not None else ("", "")
        self._header = thinking.header if thinking is not None else ""
        self._openers = (
            frozenset(tools.openers) if tools is not None and self._calls.able else frozenset[str]()
        )
        shown = (*tools.openers, *tools.keeps) if tools is not None else ()
        self._markers = marker_tokens(table, {self._open, self._close, *shown})
        self._shown = frozenset(shown)
        loose = {self._open, self._close, *self._openers} - set(self._markers.values())
        self._answer_scanner = MarkerScanner(sorted(loose - {self._close}))
        self._thought_scanner = MarkerScanner(sorted(loose & {self._close}))
        self.thinking = inside_thinking and thinking is not None
        self._thought = ThoughtText(self._header)
        self._answer = AnswerText(request.stop, parts=thinking is not None or bool(self._openers))
        self._fed = 0  # characters out of the tokens
        self._at = 0  # of these, past the scanner
        self._answered = 0  # of these, up to the last that were text of the answer
        self._block_marks: list[tuple[int, str]] = []  # marker tokens within a block of calls, by place
        self._events: list[Event] = []

    @property
    def warnings(self) -> list[str]:
        """Diagnostics for the client, such as malformed tool markup."""
        return self._calls.warnings

    @property
    def thinking_tokens(self) -> int:
        """Tokens inside thinking so far, its markers included."""
        return self._ledger.thinking

    def feed(self, token: int, score: RawScore | None = None) -> list[Event]:
        """Take the next token; return what became certain. After ``end`` is set, nothing does."""
        if self.end is not None:
            return []
        self.completion_tokens += 1
        marker = self._markers.get(token)
        if token in self._end_tokens:
            self._settle("stop")
        elif marker is not None:
            self._read_marker(token, marker, score)
        else:
            text = self._detokenizer.feed(token)
            self._ledger.enter(self._fed, token, None if token in self._special else score)
            if text:
                self._fed += len(text)
                self._read(text)
        return self._take_events()

    def finish(self, reason: Reason) -> tuple[list[Event], End]:
        """End the choice from outside, unless it ended already; return what was held back, and why it ended.

        Args:
            reason: ``length`` and ``cancelled`` cut a call that is open; with ``stop`` the model itself had ended.
        """
        if self.end is None:
            self._settle(reason)
        assert self.end is not None  # noqa: S101 - settled just now
        return self._take_events(), self.end

    # ── Text and markers ────────────────────────────────────────────────────────────────────────────────────────

    def _read_marker(self, token: int, marker: str, score: RawScore | None) -> None:
        """Take a token that is a marker of its own."""
        self._flush_tokens()
        visible = marker in self._shown or token not in self._special
        self._ledger.enter(self._fed, token, score if visible else None)
        if visible or (not self._calls.open and self._means_something(marker)):
            self._fed += len(marker)
            self._read(marker, whole=True)

    def _flush_tokens(self) -> None:
        """Give out half characters: nothing completes them any more."""
        text = self._detokenizer.flush()
        self._fed += len(text)
        self._read(text)

    def _read(self, text: str, *, whole: bool = False) -> None:
        """Take text; ``whole``: it is one marker, not to be searched for others."""
        work = [(text, whole)]
        while work and self.end is None:
            piece, whole = work.pop()
            if not piece:
                continue
            if self._calls.open:
                work += self._read_block(piece, whole=whole)
            elif whole:
                self._pass(self._scanner.flush())
                self._turn(piece)
            else:
                before, marker, behind = self._scanner.feed(piece)
                work.append((behind, False))
                self._pass(before)
                self._turn(marker)

    @property
    def _scanner(self) -> MarkerScanner:
        return self._thought_scanner if self.thinking else self._answer_scanner

    def _means_something(self, marker: str) -> bool:
        if self.thinking:
            return marker == self._close
        begun = self._shaped and self._answer.begun
        if marker == self._open:
            return not (begun or (self._shaped and self._calls.done))
        return marker in self._openers and self._calls.able and (self._mixed or not begun)

    def _pass(self, text: str) -> None:
        """Take text without markers."""
        if not text:
            return
        self._at += len(text)
        if self.thinking:
            self._think(self._thought.feed(text))
        else:
            self._answer_text(text)

    def _turn(self, marker: str | None) -> None:
        """Take a marker, if there is one: where it means something, another part begins."""
        if marker is None or self.end is not None:
            return
        if not self._means_something(marker):
            self._pass(marker)
            return
        if self.thinking:
            self._think(self._thought.close())
            self._answer.follow_thought()
        elif marker == self._open:
            self._pause()
            self._thought = ThoughtText(self._header)
        self._at += len(marker)
        if self.thinking or marker == self._open:
            self._ledger.thought(self._at)
            self.thinking = not self.thinking
        else:  # what is held of the answer stays held until there is a call indeed
            self._block_marks.clear()
            self._hear(self._calls.begin(marker))

    # ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_block(self, text: str, *, whole: bool) -> list[tuple[str, bool]]:
        """Take text inside a block of calls; return what stands behind the block, the last piece first."""
        if whole:
            self._block_marks.append((self._at, text))
        events, rest = self._calls.feed(text)
        self._at += len(text) - len(rest or "")
        self._hear(events)
        if not rest:
            return []
        pieces: list[tuple[str, bool]] = []
        done = 0
        for place, mark in self._block_marks:
            if place >= self._at:
                pieces += [(rest[done : place - self._at], False), (mark, True)]
                done = place - self._at + len(mark)
        return [*reversed([*pieces, (rest[done:], False)])]

    def _hear(self, events: list[Event]) -> None:
        """Pass on what the calls say; their markup may come back as text."""
        for event in events:
            if self.end is not None:
                return
            match event:
                case TextDelta(text=text):
                    self._answer_text(text)
                case _:
                    self._pause()
                    self._events.append(event)
                    self._answer.follow_call()
                    if isinstance(event, CallDone) and not self._parallel:
                        self.end = End("calls")

    # ── What shows ──────────────────────────────────────────────────────────────────────────────────────────────

    def _think(self, text: str) -> None:
        self._ledger.thought(self._at)
        if text:
            self._events.append(ThinkingDelta(text, self._choice))

    def _answer_text(self, text: str) -> None:
        self._answered = self._at
        shown = self._answer.feed(text)
        self._ledger.dropped(self._at - self._answer.held - len(shown))
        self._show(shown)

    def _show(self, text: str) -> None:
        if text:
            self._events += self._ledger.shown(self._answered - self._answer.held)
            self._events.append(TextDelta(text, self._choice))
        if self._answer.stop is not None:
            self.end = End("stop", self._answer.stop)

    def _pause(self) -> None:
        """A part of another kind begins."""
        self._show(self._answer.pause())
        self._ledger.dropped(self._at)

    def _settle(self, reason: Reason) -> None:
        """The answer ends: whatever is held back is decided now."""
        self._flush_tokens()
        if self.end is None:
            self._pass(self._scanner.flush())
            self._hear(self._calls.finish(cut=reason in ("length", "cancelled")))
        if self.thinking:
            self._think(self._thought.flush())
        if self.end is None:
            self._show(self._answer.finish())
        self._ledger.dropped(_EVERYTHING)
        if self.end is None:
            called = reason == "stop" and self._calls.done > 0 and not self._calls.cut
            self.end = End("calls" if called else reason)

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events
