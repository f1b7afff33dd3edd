"""What the engine said of a request, folded into a transcript."""

from collections.abc import Iterable

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from mlxp_core.desk import Ticket
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallStarted,
    Event,
    Failed,
    Finished,
    Said,
    SaidCall,
    SaidText,
    SaidThinking,
    Started,
    TextDelta,
    ThinkingDelta,
    ToldChoice,
    Transcript,
    WireRequest,
)

Piece = TextDelta | ThinkingDelta | CallStarted | CallDelta | CallBroken


def transcript(ticket: Ticket, wire: WireRequest, *, protocol: str, version: str, at_s: float) -> Transcript:
    """Return the transcript of a request that has ended. Takes time with its length; may run on any thread.

    Args:
        ticket: what came of it.
        wire: as it came in. Its headers are left out, which may hold keys.
        protocol: the API surface that was asked.
        version: of the server.
        at_s: when it came, in seconds since 1970.
    """
    choices, request = told(ticket.said), ticket.request
    return Transcript(
        version=version,
        id=ticket.id,
        at_s=at_s,
        protocol=protocol,
        method=wire.method,
        path=wire.path,
        query=wire.query,
        body=_json(wire.body),
        model=request.model,
        adapters=request.adapters or (),
        seed=choices[0].seed if choices else None,
        choices=choices,
    )


def told(events: Iterable[Event]) -> tuple[ToldChoice, ...]:
    """Return each choice of a request, from all that was said of it."""
    choices: dict[int, ToldChoice] = {}
    for event in events:
        before = choices.get(event.choice, ToldChoice(choice=event.choice))
        choices[event.choice] = _after(before, event)
    return tuple(choices[choice] for choice in sorted(choices))


def _after(choice: ToldChoice, event: Event) -> ToldChoice:
    match event:
        case Started(seed=seed):
            return replace(choice, seed=seed)
        case TextDelta() | ThinkingDelta() | CallStarted() | CallDelta() | CallBroken():
            return replace(choice, said=_longer(choice.said, event))
        case Finished(reason=reason, stop=stop, usage=usage, timing=timing, warnings=warnings):
            return replace(choice, reason=reason, stop=stop, usage=usage, timing=timing, warnings=warnings)
        case Failed(message=message):
            return replace(choice, reason="failed", error=message)
        case _:
            return choice


def _longer(said: tuple[Said, ...], event: Piece) -> tuple[Said, ...]:
    """Return what was said with one more piece, joined to the last part where it goes on with that."""
    joined = _joined(said[-1], event) if said else None
    return (*said, _begun(event)) if joined is None else (*said[:-1], joined)


def _joined(last: Said, event: Piece) -> Said | None:
    match event, last:
        case TextDelta(text=text), SaidText(text=so_far):
            return SaidText(so_far + text)
        case ThinkingDelta(text=text), SaidThinking(text=so_far):
            return SaidThinking(so_far + text)
        case CallDelta(arguments=more), SaidCall(name=name, arguments=so_far):
            return SaidCall(name, so_far + more)
        case CallBroken(text=text, why=why), SaidCall(name=name):
            return SaidCall(name, text, why)
        case _:
            return None


def _begun(event: Piece) -> Said:
    match event:
        case ThinkingDelta(text=text):
            return SaidThinking(text)
        case CallStarted(name=name):
            return SaidCall(name, "")
        case TextDelta(text=text) | CallDelta(arguments=text) | CallBroken(text=text):
            return SaidText(text)


def _json(body: bytes) -> Raw:
    """Return a body as it is, if it is JSON; else its text, as a JSON string."""
    try:
        msgspec.json.decode(body)  # all of it: what is passed over unread may be no text
        return Raw(body)
    except msgspec.DecodeError:
        return Raw(msgspec.json.encode(body.decode("utf-8", "replace")))
