"""One choice while it runs: what it was asked, how far it is, and what it has to say."""

from collections.abc import Iterable
from collections.abc import Sequence as SequenceOf
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.engine.hold import Hold
from mlxp_core.engine.orders import Order
from mlxp_core.errors import MlxpError
from mlxp_core.types import (
    Event,
    Failed,
    Finished,
    Prefilled,
    RawScore,
    Reason,
    RequestRecord,
    Reuse,
    Sampling,
    Started,
    Timing,
    Usage,
)


class Recalled(Struct, frozen=True):
    """What is known of a prompt.

    Attributes:
        cached: tokens that need not be read.
        stops: places at which reading should pause, ascending.
        reuse: why no more is known; ``None`` = nobody could say.
        waiting: nothing can be said yet; it is to be asked for again.
    """

    cached: int = 0
    stops: tuple[int, ...] = ()
    reuse: Reuse | None = None
    waiting: bool = False


class Sequence:
    """One choice, from the queue to its last event. Its arrays are the runner's, under its ``key``.

    Each method that moves it on returns what is to be said; after the last event, ``ended`` is true and nothing may
    be asked of it any more.

    Attributes:
        key: unique in this engine.
        hold: what it may draw next.
        read: prompt tokens handed to the device so far, or taken from the prompt cache.
        cached: those that were taken from the prompt cache; ``reuse`` says why not more.
        recalled: the prompt cache has been asked.
        stops: places in the prompt at which reading pauses, for the prompt cache.
        taken: tokens taken so far.
        spoilt: the step that it failed in may have left its caches half done.
        unread: draws dispatched for it whose tokens the host has not seen yet.
        produced: tokens taken so far.
        guessed, accepted: tokens guessed for it, and those of them that were right and that it took.
        ended: the last event has been said.
    """

    def __init__(self, key: int, order: Order, submitted_s: float) -> None:
        """Wait in the queue since ``submitted_s``."""
        self.key = key
        self.order = order
        self.hold = Hold(order)
        self.sampling: Sampling = replace(order.request.sampling, seed=_seed(order))
        self.max_tokens = order.request.max_tokens or 1
        self.read = 0
        self.cached = 0
        self.recalled = order.pool is not None
        self.reuse: Reuse | None = None
        self.stops: tuple[int, ...] = ()
        self.taken: list[int] = []
        self.spoilt = False
        self.unread = 0
        self.produced = 0
        self.guessed = 0
        self.accepted = 0
        self.ended = False
        self._outcome: tuple[str, str | None] = ("", None)  # reason, error
        self._timing = Timing()
        self._submitted_s = submitted_s
        self._began_s: float | None = None
        self._first_token_s: float | None = None

    @property
    def request_id(self) -> str:
        """Return the id its request goes by."""
        return self.order.request.id

    @property
    def prompt(self) -> tuple[int, ...]:
        """Return the tokens of the prompt."""
        return self.order.prompt.tokens

    def next_chunk(self, limit: int) -> int:
        """Return how many tokens of the prompt to read next: at most ``limit``, and more for an image too long.

        An image that must not be cut is left to the next chunk, or, where it begins this one, read whole.
        """
        prompt = self.order.prompt
        end = min(self.read + limit, len(prompt.tokens))
        end = min([stop for stop in self.stops if self.read < stop <= end], default=end)
        if prompt.whole_images:
            for span in prompt.spans:
                if span.start < end < span.end:
                    end = span.start if span.start > self.read else span.end
        return end - self.read

    def forks_from(self, first: "Sequence") -> bool:
        """Say whether it goes on from where ``first`` has read: a choice for the same prompt of the same request."""
        mine, other = self.order, first.order
        return mine.pool is None and self.request_id == first.request_id and mine.prompt == other.prompt

    @property
    def constrained(self) -> bool:
        """Say whether the next draw needs what has been drawn before to be read first."""
        return self.hold.waits(self.unread)

    @property
    def wants_more(self) -> bool:
        """Say whether another draw may be dispatched: what is under way does not reach ``max_tokens`` yet."""
        return not self.ended and self.order.pool is None and self.produced + self.unread < self.max_tokens

    def begin(self, now_s: float) -> list[Event]:
        """Take a row."""
        self._began_s = now_s
        order, seed = self.order, self.sampling.seed or 0
        return [Started(self.request_id, order.request.model, seed, order.choice, order.echo)]

    def recall(self, known: Recalled) -> None:
        """Note how much of the prompt is known, unless that is still to be seen; the rest is to be read."""
        self.recalled = not known.waiting
        self.read = self.cached = known.cached
        self.stops, self.reuse = known.stops, known.reuse

    def advance(self, count: int) -> list[Event]:
        """Note that ``count`` more tokens of the prompt were handed to the device."""
        self.read += count
        return [Prefilled(self.read, len(self.prompt), self.cached, choice=self.order.choice)]

    def share(self, first: "Sequence") -> None:
        """Note that its prompt is the one that ``first`` has read, and came from where that one did."""
        self.recalled = True
        self.cached, self.reuse = first.cached, first.reuse

    def feed(
        self, tokens: SequenceOf[int], scores: Iterable[RawScore], now_s: float, *, guessed: int = 0
    ) -> list[Event]:
        """Take the tokens of one draw; those after the end do not count. A vector is complete without any."""
        self.unread -= 1
        self.guessed += guessed
        if self._first_token_s is None:
            self._first_token_s = now_s
        if self.order.pool is not None:
            return self._cut("stop", now_s)
        reader = self.order.reader
        said: list[Event] = []
        for place, (token, score) in enumerate(zip_longest(tokens, scores), 1):
            self.produced += 1
            self.accepted += place < len(tokens)
            self.taken.append(token)
            said += reader.feed(token, score)
            if reader.end is not None:
                return said + self._finish(reader.end.reason, reader.end.stop, now_s)
            if self.produced >= self.max_tokens:
                return said + self._cut("length", now_s)
            self.hold.take(token)
        return said

    def cancel(self, now_s: float) -> list[Event]:
        """End as cancelled, saying what was held back."""
        return self._cut("cancelled", now_s)

    def fail(self, fault: MlxpError, now_s: float) -> list[Event]:
        """End with a fault. The reader is not asked: it may be what failed."""
        self._end("failed", fault.message, now_s)
        return [Failed(fault.code, fault.message, fault.status, choice=self.order.choice)]

    def record(self) -> RequestRecord:
        """Return what is to be remembered of it, once it has ended."""
        reason, error = self._outcome
        return RequestRecord(
            request_id=self.request_id,
            protocol=self.order.protocol,
            model=self.order.model,
            usage=self._usage(),
            timing=self._timing,
            reason=reason,
            seed=self.sampling.seed or 0,
            adapters=self.order.request.adapters or (),
            error=error,
            choice=self.order.choice,
            reuse=self.reuse,
        )

    def _cut(self, reason: Reason, now_s: float) -> list[Event]:
        said, end = self.order.reader.finish(reason)
        return said + self._finish(end.reason, end.stop, now_s)

    def _finish(self, reason: Reason, stop: str | None, now_s: float) -> list[Event]:
        self._end(reason, None, now_s)
        warnings = tuple(self.order.reader.warnings)
        choice = self.order.choice
        return [
            Finished(reason, self._usage(), self._timing, stop, warnings, choice=choice, reuse=self.reuse)
        ]

    def _end(self, reason: str, error: str | None, now_s: float) -> None:
        began_s = now_s if self._began_s is None else self._began_s
        first_s = now_s if self._first_token_s is None else self._first_token_s
        self._timing = Timing(
            queued_s=began_s - self._submitted_s, prefill_s=first_s - began_s, decode_s=now_s - first_s
        )
        self._outcome = (reason, error)
        self.ended = True

    def _usage(self) -> Usage:
        reader = self.order.reader
        thinking = reader.thinking_tokens
        cached = min(self.cached, self.read)  # one that was to fork, and never did, has read nothing
        return Usage(
            prompt=self.read,
            cached=cached,
            completion=self.produced,
            thinking=thinking,
            guessed=self.guessed,
            accepted=self.accepted,
        )


def _seed(order: Order) -> int:
    return (order.request.sampling.seed or 0) + order.choice
