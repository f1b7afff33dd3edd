"""One script, piece by piece: what the kit's engine says for one order."""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from msgspec.structs import replace

from mlxp_core.engine import Order, Survey
from mlxp_core.errors import MlxpError
from mlxp_core.testing.vectors import sketch_survey, sketch_vector
from mlxp_core.types import (
    CallBroken,
    CallDone,
    CallStarted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Reason,
    RequestRecord,
    Started,
    Timing,
    Usage,
)


class Pause(Enum):
    """What a script may hold besides events, tokens and errors."""

    HOLD = "hold"


HOLD: Final = Pause.HOLD
"""Wait here until ``ScriptedEngine.release``."""

Piece = Event | int | MlxpError | Pause
"""An event to say, a token for the order's reader, an error to fail with, or ``HOLD``."""


class Play:
    """One order's script, and how far it is.

    Attributes:
        order: whose script it is.
        holding: it waits to be released.
        cut: how to end at the next turn, whatever the script says.
        record: what is to be remembered of it, once it has ended.
    """

    def __init__(self, order: Order, script: Iterable[Piece]) -> None:
        """Begin before the first piece."""
        self.order = order
        self.holding = False
        self.cut: MlxpError | Reason | None = None
        self.record: RequestRecord | None = None
        heard = None if order.pool is None else MlxpError | Pause
        self._pieces = (piece for piece in script if heard is None or isinstance(piece, heard))
        self._started = False
        self._fed = 0
        self._open_call: int | None = None

    def next_events(self) -> list[Event]:
        """Play one piece and return what is to be said."""
        if self.cut is not None:
            return self._end_early(self.cut)
        match next(self._pieces, None):
            case None:
                return self._begin() + self._run_out()
            case Pause.HOLD:
                self.holding = True
                return []
            case MlxpError() as fault:
                return self._end_early(fault)
            case int(token):
                return self._begin() + self._feed(token)
            case event:
                return self._say(event)

    def _begin(self) -> list[Event]:
        """Say what comes before the first token, if nothing was said yet."""
        if self._started:
            return []
        total = len(self.order.prompt.tokens)
        choice = self.order.choice
        return [*self._say(Started("", "")), Prefilled(total, total, choice=choice)]

    def _say(self, event: Event) -> list[Event]:
        choice = self.order.choice
        match event:
            case Started():
                self._started = True
                request = self.order.request
                return [Started(request.id, request.model, self._seed, choice, self.order.echo)]
            case CallStarted(index):
                self._open_call = index
            case CallDone() | CallBroken():
                self._open_call = None
            case Finished(reason, usage):
                self._remember(reason, usage)
            case Failed(_, message):
                self._remember("failed", self._usage(), message)
        return [replace(event, choice=choice)]

    def _feed(self, token: int) -> list[Event]:
        reader = self.order.reader
        said = reader.feed(token)
        self._fed += 1
        if reader.end is not None:
            return said + self._finish(reader.end.reason, reader.end.stop)
        if self._fed >= (self.order.request.max_tokens or 1):
            return said + self._end_early("length")
        return said

    def _run_out(self) -> list[Event]:
        """End at the end of the script."""
        pool, tokens = self.order.pool, self.order.prompt.tokens
        if pool is None:
            return self._end_early("length")
        match pool.pooling:
            case Survey() as survey:
                pool.keep(sketch_survey(tokens, survey))
            case _:
                pool.keep(sketch_vector(tokens))
        return self._end_early("stop")

    def _end_early(self, cut: MlxpError | Reason) -> list[Event]:
        match cut:
            case MlxpError() as fault:
                return self._say(Failed(fault.code, fault.message, fault.status))
            case reason if self._fed:
                said, end = self.order.reader.finish(reason)
                return said + self._finish(end.reason, end.stop)
            case reason:
                broken = [] if self._open_call is None else self._say(CallBroken(self._open_call, "", "cut"))
                return broken + self._finish(reason, None)

    def _finish(self, reason: Reason, stop: str | None) -> list[Event]:
        warnings = tuple(self.order.reader.warnings) if self._fed else ()
        return self._say(Finished(reason, self._usage(), Timing(), stop, warnings))

    def _usage(self) -> Usage:
        prompt = len(self.order.prompt.tokens) if self._started else 0
        thinking = self.order.reader.thinking_tokens if self._fed else 0
        return Usage(prompt=prompt, completion=self._fed, thinking=thinking)

    def _remember(self, reason: str, usage: Usage, error: str | None = None) -> None:
        self.record = RequestRecord(
            request_id=self.order.request.id,
            protocol=self.order.protocol,
            model=self.order.model,
            usage=usage,
            timing=Timing(),
            reason=reason,
            seed=self._seed,
            error=error,
            choice=self.order.choice,
        )

    @property
    def _seed(self) -> int:
        return (self.order.request.sampling.seed or 0) + self.order.choice
