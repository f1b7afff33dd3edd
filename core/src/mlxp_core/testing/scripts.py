"""Canonical runs of events: what an engine may say, one script for each thing a protocol must get right.

A script added here tests every protocol there is.
"""

from msgspec import Struct

from mlxp_core.testing.replies import Reply, reply_to
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Reason,
    Scored,
    Started,
    TextDelta,
    ThinkingDelta,
    Timing,
    TokenScore,
    Usage,
)


class Script(Struct, frozen=True, kw_only=True):
    """A run of events that follows the grammar of ``mlxp_core.types.events``."""

    name: str
    events: tuple[Event, ...]
    choices: int = 1
    scored: bool = False

    def reply(self) -> Reply:
        """Return what a client must have at the end."""
        return reply_to(self.events, self.choices)


def _begin(choice: int = 0) -> tuple[Event, ...]:
    return (
        Started("req-1", "tiny", seed=7 + choice, choice=choice),
        Prefilled(8, 11, cached=4, choice=choice),
        Prefilled(11, 11, cached=4, choice=choice),
    )


def _end(
    reason: Reason,
    *,
    thinking: int = 0,
    stop: str | None = None,
    warnings: tuple[str, ...] = (),
    choice: int = 0,
) -> Finished:
    usage = Usage(prompt=11, cached=4, completion=9 + choice, thinking=thinking)
    return Finished(reason, usage, Timing(0.001, 0.25, 1.5), stop, warnings, choice)


def _call(index: int, name: str, *fragments: str) -> tuple[Event, ...]:
    return (
        CallStarted(index, f"call_{index}", name),
        *(CallDelta(index, fragment) for fragment in fragments),
        CallDone(index),
    )


def _scored(text: str, logprob: float, rival: str, rival_logprob: float) -> Scored:
    chosen = TokenScore(5, text, text.encode(), logprob)
    return Scored(chosen, (chosen, TokenScore(6, rival, rival.encode(), rival_logprob)))


_WEATHER = '{"city": "Łódź", "days": 3}'
_BROKEN_MARKUP = '<tool_call>{"name": "add", "arguments": {"a": 1}} garbage'

PLAIN = Script(
    name="plain", events=(*_begin(), TextDelta("Hello"), TextDelta(", wor"), TextDelta("ld!"), _end("stop"))
)

THINKING_THEN_ANSWER = Script(
    name="thinking-then-answer",
    events=(
        *_begin(),
        ThinkingDelta("Let me"),
        ThinkingDelta(" see.\n"),
        TextDelta("42"),
        TextDelta(" it is."),
        _end("stop", thinking=5),
    ),
)

TWO_CALLS = Script(
    name="two-calls",
    events=(
        *_begin(),
        *_call(0, "weather", '{"city"', ': "Łódź"', ', "days": 3}'),
        *_call(1, "weather", "{", "}"),
        _end("calls"),
    ),
)

CALL_AFTER_TEXT = Script(
    name="call-after-text",
    events=(*_begin(), TextDelta("I will look."), *_call(0, "weather", _WEATHER), _end("calls")),
)

TEXT_AFTER_CALL = Script(
    name="text-after-call",
    events=(
        *_begin(),
        *_call(0, "weather", '{"deep": {"er": [1, {}]', "}}", " "),
        TextDelta("Asked."),
        _end("calls"),
    ),
)

BROKEN_CALL = Script(
    name="broken-call",
    events=(
        *_begin(),
        TextDelta("Adding. "),
        CallStarted(0, "call_0", "add"),
        CallDelta(0, '{"a": 1}'),
        CallBroken(0, _BROKEN_MARKUP, "text after the arguments"),
        _end("stop", warnings=("tool call 'add': text after the arguments",)),
    ),
)

BROKEN_CALL_BETWEEN_GOOD_ONES = Script(
    name="broken-call-between-good-ones",
    events=(
        *_begin(),
        *_call(0, "weather", _WEATHER),
        CallStarted(1, "call_1", "add"),
        CallBroken(1, "<tool_call>", "nothing inside"),
        *_call(2, "weather", "{}"),
        _end("calls", warnings=("tool call 'add': nothing inside",)),
    ),
)

STOP_STRING = Script(
    name="stop-string", events=(*_begin(), TextDelta("1 2 3"), TextDelta(" 4"), _end("stop", stop=" 5"))
)

LENGTH = Script(name="length", events=(*_begin(), TextDelta("And then he"), _end("length")))

LENGTH_INSIDE_THINKING = Script(
    name="length-inside-thinking",
    events=(*_begin(), ThinkingDelta("On the one hand"), _end("length", thinking=9)),
)

LENGTH_INSIDE_CALL = Script(
    name="length-inside-call",
    events=(
        *_begin(),
        CallStarted(0, "call_0", "weather"),
        CallDelta(0, '{"city": "Łó'),
        CallBroken(0, '<tool_call>{"city": "Łó', "the answer was cut"),
        _end("length", warnings=("tool call 'weather': the answer was cut",)),
    ),
)

FAILURE_MIDWAY = Script(
    name="failure-midway",
    events=(*_begin(), TextDelta("So far so"), Failed("engine_fault", "the device gave up; try again", 500)),
)

FAILURE_BEFORE_ANYTHING = Script(
    name="failure-before-anything",
    events=(Failed("unavailable", "the model cannot be loaded; see the log", 503),),
)

EMPTY_ANSWER = Script(name="empty-answer", events=(*_begin(), _end("stop")))

EMOJI_CUT_ACROSS_DELTAS = Script(
    name="emoji-cut-across-deltas",
    events=(
        *_begin(),
        TextDelta("👩"),
        TextDelta("\u200d"),
        TextDelta("👧 🇵"),
        TextDelta('🇱 "quoted"\n\ndata: x\\u00e9\t\u2028é'),
        _end("stop"),
    ),
)

TWO_CHOICES_INTERLEAVED = Script(
    name="two-choices-interleaved",
    choices=2,
    events=(
        *_begin(0),
        TextDelta("Heads", choice=0),
        *_begin(1),
        ThinkingDelta("Hm.", choice=1),
        TextDelta(" it", choice=0),
        TextDelta("Tails", choice=1),
        _end("length", choice=1, thinking=3),
        TextDelta(" is", choice=0),
        _end("stop", choice=0),
    ),
)

SCORED = Script(
    name="scored",
    scored=True,
    events=(
        *_begin(),
        _scored("Yes", -0.125, "No", -2.25),
        TextDelta("Yes"),
        _scored("\ufffd", -1.5, "!", -1.75),
        _scored("\ufffd", -0.5, "?", -3.0),
        TextDelta("é"),
        _scored("", -0.25, "x", -8.0),
        _end("stop"),
    ),
)

CANCELLED = Script(name="cancelled", events=(*_begin(), TextDelta("Once upon"), _end("cancelled")))

CANCELLED_WHILE_WAITING = Script(
    name="cancelled-while-waiting", events=(Finished("cancelled", Usage(), Timing(queued_s=0.5)),)
)

SCRIPTS: tuple[Script, ...] = (
    PLAIN,
    THINKING_THEN_ANSWER,
    TWO_CALLS,
    CALL_AFTER_TEXT,
    TEXT_AFTER_CALL,
    BROKEN_CALL,
    BROKEN_CALL_BETWEEN_GOOD_ONES,
    STOP_STRING,
    LENGTH,
    LENGTH_INSIDE_THINKING,
    LENGTH_INSIDE_CALL,
    EMPTY_ANSWER,
    EMOJI_CUT_ACROSS_DELTAS,
    TWO_CHOICES_INTERLEAVED,
    SCORED,
    CANCELLED,
    CANCELLED_WHILE_WAITING,
)
"""The runs that end with ``Finished``."""

FAILURES: tuple[Script, ...] = (FAILURE_MIDWAY, FAILURE_BEFORE_ANYTHING)
"""The runs that end with ``Failed``."""
