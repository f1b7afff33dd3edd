"""A response as a client has it at the end, and how events add up to one."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

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
    Usage,
)


class Answer(Struct, frozen=True, kw_only=True):
    """One choice as a client has it at the end.

    Attributes:
        calls: name and JSON text of the arguments of each finished call.
        reason: why it ended; ``None`` if it did not end well.
        scores: log-probabilities of the tokens of the visible answer.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    reason: Reason | None = None
    scores: tuple[float, ...] = ()


class Reply(Struct, frozen=True, kw_only=True):
    """A response as a client has it at the end: its choices in order, the usage of all or what went wrong."""

    answers: tuple[Answer, ...]
    usage: Usage | None = None
    error: str | None = None


def reply_to(events: Sequence[Event], choices: int) -> Reply:
    """Return what a client must have after these events; a choice that did nothing but fail is left out."""
    said = [[event for event in events if event.choice == choice] for choice in range(choices)]
    return Reply(
        answers=tuple(_answer(own) for own in said if any(not isinstance(event, Failed) for event in own)),
        usage=_usage(events),
        error=next((event.message for event in events if isinstance(event, Failed)), None),
    )


def _answer(events: Iterable[Event]) -> Answer:
    text, thinking, arguments = "", "", ""
    names: dict[int, str] = {}
    calls: list[tuple[str, str]] = []
    scores: list[float] = []
    reason: Reason | None = None
    for event in events:
        match event:
            case TextDelta(text=more) | CallBroken(text=more):
                text += more
            case ThinkingDelta(text=more):
                thinking += more
            case CallStarted(index=index, name=name):
                names[index], arguments = name, ""
            case CallDelta(arguments=more):
                arguments += more
            case CallDone(index=index):
                calls.append((names[index], arguments))
            case Scored(chosen=chosen):
                scores.append(chosen.logprob)
            case Finished():
                reason = event.reason
            case Started() | Prefilled() | Failed():
                continue
    return Answer(text=text, thinking=thinking, calls=tuple(calls), reason=reason, scores=tuple(scores))


def _usage(events: Iterable[Event]) -> Usage | None:
    """Return the prompt of the first choice and the completions of all, once all have finished."""
    ends: dict[int, Usage] = {}
    for event in events:
        match event:
            case Finished(usage=usage, choice=choice):
                ends[choice] = usage
            case Failed():
                return None
            case _:
                continue
    first = ends[0]
    return Usage(
        prompt=first.prompt,
        cached=first.cached,
        completion=sum(usage.completion for usage in ends.values()),
        thinking=sum(usage.thinking for usage in ends.values()),
    )
