"""Events -> the bytes of a whole completion."""

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
from mlxp_protocols import openai_error
from mlxp_protocols.openai_answer import Head, extension_of, usage_of
from mlxp_protocols.openai_completions import wire
from mlxp_protocols.openai_completions.encode import REASONS, ScoreSheet


class _Draft:
    """One choice as far as it is said."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.text: list[str] = []
        self.scores = ScoreSheet()
        self.end: Finished | None = None

    def take(self, event: Event) -> None:
        match event:
            case Started(seed=seed, echo=echo):
                self.seed = seed
                self.text.append(echo)
            case TextDelta(text=text) | CallBroken(text=text):
                self.text.append(text)
            case Scored():
                self.scores.enter(event)
            case Finished():
                self.end = event
            case ThinkingDelta() | CallStarted() | CallDelta() | CallDone() | Prefilled() | Failed():
                return  # plain text has no thinking and no calls

    def choice(self, index: int, end: Finished, *, explain_cache: bool) -> wire.Choice:
        return wire.Choice(
            index=index,
            text="".join(self.text),
            logprobs=self.scores.take(),
            finish_reason=REASONS[end.reason],
            mlxp=extension_of(end, self.seed, explain_cache=explain_cache),
        )


class WholeEncoder:
    """Writes one ``text_completion`` when the last choice has ended."""

    streaming = False
    media_type = "application/json"

    def __init__(self, head: Head) -> None:
        self._head = head
        self._model = head.model
        self._drafts = [_Draft() for _ in range(head.answers)]
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the body after the last event, and nothing before."""
        if self._over:
            return b""
        match event:
            case Failed():
                self._over = True
                self._failure = openai_error.whole(event)
                return b""
            case Started(model=model):
                self._model = model
        self._drafts[event.choice].take(event)
        return self._body()

    def keep_alive(self) -> bytes:
        """Return nothing: the body is one piece."""
        return b""

    def failure(self) -> WireResponse | None:
        """Return the error response if a choice failed."""
        return self._failure

    def _body(self) -> bytes:
        ends = [draft.end for draft in self._drafts if draft.end is not None]
        if len(ends) < len(self._drafts):
            return b""
        self._over = True
        body = wire.Completion(
            id=self._head.id,
            created=self._head.created,
            model=self._model,
            system_fingerprint=self._head.fingerprint,
            choices=[
                draft.choice(index, end, explain_cache=self._head.explain_cache)
                for index, (draft, end) in enumerate(zip(self._drafts, ends, strict=True))
            ],
            usage=usage_of(self._head, ((index, end.usage) for index, end in enumerate(ends))),
        )
        return msgspec.json.encode(body)
