"""What a job says: lines of JSON, one event a line; the same that ``/api/jobs/{id}/stream`` sends."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from mlxp_lab.jobs.record import State


class StateEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="state"):
    """The job is in another state, or paused, or goes on; ``at`` is in milliseconds since 1970, as in all events."""

    at: int
    state: State
    attempt: int = 0
    paused: bool = False
    message: str = ""
    error: str | None = None


class ProgressEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="progress"):
    """How far it is; ``left_s``: seconds until it is done, as far as can be told."""

    at: int
    fraction: float
    stage: str = ""
    message: str = ""
    left_s: float | None = None


class MetricsEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="metrics"):
    """What was measured at a step."""

    at: int
    step: int
    values: dict[str, float]


class LogEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="log"):
    """A line for people."""

    at: int
    line: str


class ResultEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="result"):
    """What came of it."""

    at: int
    output: str | None = None
    summary: dict[str, Any] = field(default_factory=dict)


Event = StateEvent | ProgressEvent | MetricsEvent | LogEvent | ResultEvent

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """Return an event as a line without its end."""
    return _encoder.encode(event)


def decode(line: bytes) -> Event | None:
    """Return the event of a line; ``None`` for one that was cut off or damaged."""
    try:
        return _decoder.decode(line)
    except msgspec.MsgspecError:
        return None
