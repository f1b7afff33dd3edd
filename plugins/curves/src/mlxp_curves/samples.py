"""Events -> the bytes of all samples."""

from collections.abc import Callable
from typing import Literal

import msgspec

from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Scored,
    Started,
    TextDelta,
    ThinkingDelta,
    WireResponse,
)
from mlxp_curves.errors import whole
from mlxp_curves.junk import is_junk
from mlxp_curves.wire import Recipe, Sample, Samples, TokenCounts


class _Draft:
    """One sample as far as it is said."""

    def __init__(self) -> None:
        self.text = ""
        self.thinking = ""
        self.end: Finished | None = None

    def take(self, event: Event) -> None:
        match event:
            case TextDelta(text=more) | CallBroken(text=more):
                self.text += more
            case ThinkingDelta(text=more):
                self.thinking += more
            case Finished():
                self.end = event
            case Started() | Prefilled() | Scored() | CallStarted() | CallDelta() | CallDone() | Failed():
                return  # there are no tools, so there are no calls

    def sample(self, end: Finished) -> Sample:
        text = self.text.strip()
        return Sample(text=text, junk=is_junk(text), thinking=self.thinking, finish_reason=end.reason)


class SampleEncoder:
    """Writes one ``Samples`` when the last sample has ended."""

    streaming = False
    media_type = "application/json"

    def __init__(
        self, mode: Literal["default", "curve", "hlg"], count: int, usual: Callable[[str], Recipe | None]
    ) -> None:
        self._mode: Literal["default", "curve", "hlg"] = mode
        self._usual = usual
        self._drafts = [_Draft() for _ in range(count)]
        self._model, self._seed = "", 0
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the body after the last event, and nothing before."""
        if self._over:
            return b""
        match event:
            case Failed():
                self._over, self._failure = True, whole(event)
                return b""
            case Started(model=model, seed=seed, choice=choice):
                self._model, self._seed = model, seed - choice
        self._drafts[event.choice].take(event)
        ends = [draft.end for draft in self._drafts if draft.end is not None]
        return self._body(ends) if len(ends) == len(self._drafts) else b""

    def keep_alive(self) -> bytes:
        """Return nothing: the body is one piece."""
        return b""

    def failure(self) -> WireResponse | None:
        """Return the error response if a sample failed."""
        return self._failure

    def _body(self, ends: list[Finished]) -> bytes:
        self._over = True
        body = Samples(
            mode=self._mode,
            recipe=self._usual(self._model) if self._mode == "default" else None,
            n=len(ends),
            seed=self._seed,
            model=self._model,
            samples=tuple(draft.sample(end) for draft, end in zip(self._drafts, ends, strict=True)),
            usage=TokenCounts(
                prompt_tokens=ends[0].usage.prompt,
                cached_tokens=ends[0].usage.cached,
                completion_tokens=sum(end.usage.completion for end in ends),
                thinking_tokens=sum(end.usage.thinking for end in ends),
            ),
        )
        return msgspec.json.encode(body)
