"""What the engine says, in the order it says it.

The grammar of one choice: ``Started Prefilled* (delta | call | Scored)* (Finished | Failed)``, where a call is
``CallStarted CallDelta* (CallDone | CallBroken)`` and calls never interleave. Nothing follows the last event. A choice
that ends before it holds a row says ``Failed`` or ``Finished`` with ``cancelled``, and nothing else.
``choice`` numbers the independent answers of one request; events of different choices may interleave.
"""

from typing import Literal

from msgspec import Struct

from mlxp_core.types.records import Timing, Usage
from mlxp_core.types.reuse import Reuse

Reason = Literal["stop", "length", "calls", "cancelled"]


class Started(Struct, frozen=True, gc=False, tag_field="kind", tag="started"):
    """The request holds a row. ``seed`` is the one in use; ``echo`` is the prompt's text, if that was asked for."""

    request_id: str
    model: str
    seed: int = 0
    choice: int = 0
    echo: str = ""


class Prefilled(Struct, frozen=True, gc=False, tag_field="kind", tag="prefilled"):
    """``done`` of ``total`` prompt tokens are read, ``cached`` of them from the prompt cache."""

    done: int
    total: int
    cached: int = 0
    choice: int = 0


class TextDelta(Struct, frozen=True, gc=False, tag_field="kind", tag="text"):
    """More of the visible answer; never empty."""

    text: str
    choice: int = 0


class ThinkingDelta(Struct, frozen=True, gc=False, tag_field="kind", tag="thinking"):
    """More of the reasoning; never empty."""

    text: str
    choice: int = 0


class CallStarted(Struct, frozen=True, gc=False, tag_field="kind", tag="call_started"):
    """A tool call begins; its name is known. ``index`` counts the calls of the answer from 0."""

    index: int
    id: str
    name: str
    choice: int = 0


class CallDelta(Struct, frozen=True, gc=False, tag_field="kind", tag="call_delta"):
    """A fragment of JSON text; the fragments of one call join to one JSON object."""

    index: int
    arguments: str
    choice: int = 0


class CallDone(Struct, frozen=True, gc=False, tag_field="kind", tag="call_done"):
    """The call is complete and its arguments are valid JSON."""

    index: int
    choice: int = 0


class CallBroken(Struct, frozen=True, gc=False, tag_field="kind", tag="call_broken"):
    """The call turned out malformed or was cut: it does not count, and ``text`` is its markup as generated."""

    index: int
    text: str
    why: str
    choice: int = 0


class RawScore(Struct, frozen=True, gc=False):
    """What the sampler knows of a drawn token: ids only, no text yet.

    Attributes:
        logprob: of the drawn token; natural log, under the model's own distribution.
        top: the likeliest tokens with theirs, likeliest first.
    """

    logprob: float
    top: tuple[tuple[int, float], ...] = ()


class TokenScore(Struct, frozen=True, gc=False):
    """A token with its log-probability (natural log, before truncation and temperature)."""

    token: int
    text: str
    data: bytes
    logprob: float


class Scored(Struct, frozen=True, tag_field="kind", tag="scored"):
    """The log-probability of the token just generated and of its best rivals, likeliest first.

    Comes before the delta that shows the token's text; only for tokens of the visible answer.
    """

    chosen: TokenScore
    top: tuple[TokenScore, ...] = ()
    choice: int = 0


class Finished(Struct, frozen=True, tag_field="kind", tag="finished"):
    """The choice is complete.

    Attributes:
        reason: ``stop`` (end token or stop string), ``length``, ``calls`` (at least one finished call and no
            truncation) or ``cancelled``.
        stop: the stop string that ended it, if one did.
        warnings: diagnostics for the client, such as malformed tool markup.
        reuse: what the prompt cache did for its prompt, if it was asked.
    """

    reason: Reason
    usage: Usage
    timing: Timing
    stop: str | None = None
    warnings: tuple[str, ...] = ()
    choice: int = 0
    reuse: Reuse | None = None


class Failed(Struct, frozen=True, tag_field="kind", tag="failed"):
    """The choice cannot go on; ``status`` and ``code`` as in the error tree."""

    code: str
    message: str
    status: int
    choice: int = 0


Event = (
    Started
    | Prefilled
    | TextDelta
    | ThinkingDelta
    | CallStarted
    | CallDelta
    | CallDone
    | CallBroken
    | Scored
    | Finished
    | Failed
)
