"""Events -> the bytes of a stream of completions."""

import msgspec
from msgspec import UNSET, UnsetType

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
    Usage,
    WireResponse,
)
from mlxp_protocols import openai_error, sse
from mlxp_protocols.openai_answer import Extension, Head, TokenUsage, extension_of, usage_of
from mlxp_protocols.openai_completions import wire
from mlxp_protocols.openai_completions.encode import REASONS, ScoreSheet

_DONE = sse.frame(b"[DONE]")


class ChunkEncoder:
    """Writes a stream of ``text_completion`` frames."""

    streaming = True
    media_type = sse.MEDIA_TYPE

    def __init__(self, head: Head, *, include_usage: bool) -> None:
        self._head = head
        self._model = head.model
        self._encoder = msgspec.json.Encoder()
        self._scores = [ScoreSheet() for _ in range(head.answers)]
        self._spent: dict[int, Usage] = {}
        self._include_usage = include_usage
        self._sent = False
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the frames for one event; nothing follows the end."""
        said = b"" if self._over else self._say(event)
        self._sent = self._sent or bool(said)
        return said

    def keep_alive(self) -> bytes:
        """Return a comment."""
        if self._over:
            return b""
        self._sent = True
        return sse.KEEP_ALIVE

    def failure(self) -> WireResponse | None:
        """Return the error response if nothing was sent before the failure."""
        return self._failure

    def _say(self, event: Event) -> bytes:
        said = b""
        match event:
            case TextDelta(text=text, choice=choice) | CallBroken(text=text, choice=choice):
                said = self._frame(choice, text) if text else b""
            case Scored(choice=choice):
                self._scores[choice].enter(event)
            case Started(model=model, seed=seed, choice=choice, echo=echo):
                self._model = model
                said = self._frame(choice, echo, extension=Extension(seed=seed))
            case Finished():
                said = self._finish(event)
            case Failed():
                said = self._fail(event)
            case ThinkingDelta() | CallStarted() | CallDelta() | CallDone() | Prefilled():
                return b""  # plain text has no thinking and no calls
        return said

    def _finish(self, event: Finished) -> bytes:
        self._spent[event.choice] = event.usage
        extension = extension_of(event, explain_cache=self._head.explain_cache)
        said = self._frame(
            event.choice,
            "",
            reason=REASONS[event.reason],
            extension=UNSET if extension == Extension() else extension,
        )
        if len(self._spent) < self._head.answers:
            return said
        self._over = True
        if self._include_usage:
            said += self._chunk([], usage_of(self._head, self._spent.items()))
        return said + _DONE

    def _fail(self, event: Failed) -> bytes:
        self._over = True
        if self._sent:
            return openai_error.in_stream(event)
        self._failure = openai_error.whole(event)
        return b""

    def _frame(
        self,
        choice: int,
        text: str,
        *,
        reason: wire.FinishReason | None = None,
        extension: Extension | UnsetType = UNSET,
    ) -> bytes:
        scores = self._scores[choice].take()
        said = wire.Choice(index=choice, text=text, logprobs=scores, finish_reason=reason, mlxp=extension)
        return self._chunk([said], None if self._include_usage else UNSET)

    def _chunk(self, choices: list[wire.Choice], usage: TokenUsage | UnsetType | None) -> bytes:
        chunk = wire.Completion(
            id=self._head.id,
            created=self._head.created,
            model=self._model,
            system_fingerprint=self._head.fingerprint,
            choices=choices,
            usage=usage,
        )
        return sse.frame(self._encoder.encode(chunk))
