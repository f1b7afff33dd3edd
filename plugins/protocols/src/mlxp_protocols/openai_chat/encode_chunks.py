"""Events -> the bytes of a chat stream.

Arguments of a streamed call become complete JSON only when the call is done.
"""

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
from mlxp_protocols.fragments import HeldEnd
from mlxp_protocols.openai_answer import Extension, Head, TokenUsage, extension_of, usage_of
from mlxp_protocols.openai_chat import wire_answer as wire
from mlxp_protocols.openai_chat.encode import REASONS, logprob_of

_DONE = sse.frame(b"[DONE]")


class _Line:
    """What one choice of a stream holds back: scores until their text, a closing brace until the call is done."""

    def __init__(self) -> None:
        self.scores: list[wire.TokenLogprob] = []
        self.arguments = HeldEnd()


class ChunkEncoder:
    """Writes a stream of ``chat.completion.chunk`` frames."""

    streaming = True
    media_type = sse.MEDIA_TYPE

    def __init__(self, head: Head, *, include_usage: bool) -> None:
        self._head = head
        self._model = head.model
        self._encoder = msgspec.json.Encoder()
        self._lines = [_Line() for _ in range(head.choices)]
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
                said = self._content(choice, text)
            case ThinkingDelta(text=text, choice=choice):
                said = self._frame(choice, wire.Delta(reasoning=text, reasoning_content=text))
            case CallStarted() | CallDelta() | CallDone():
                said = self._call(event)
            case Scored(chosen=chosen, top=top, choice=choice):
                self._lines[choice].scores.append(logprob_of(chosen, top))
            case Started():
                said = self._begin(event)
            case Finished():
                said = self._finish(event)
            case Failed():
                said = self._fail(event)
            case Prefilled():
                return b""
        return said

    def _begin(self, event: Started) -> bytes:
        self._model = event.model
        delta = wire.Delta(role="assistant", content="")
        return self._frame(event.choice, delta, extension=Extension(seed=event.seed))

    def _call(self, event: CallStarted | CallDelta | CallDone) -> bytes:
        line = self._lines[event.choice]
        match event:
            case CallStarted(index=index, id=call_id, name=name):
                line.arguments.forget()
                function = wire.FunctionDelta(name=name, arguments="")
                call = wire.ToolCallDelta(index=index, id=call_id, type="function", function=function)
                return self._frame(event.choice, wire.Delta(tool_calls=[call]))
            case CallDelta(arguments=arguments):
                fragment = line.arguments.push(arguments)
            case CallDone():
                fragment = line.arguments.release()
        if not fragment:
            return b""
        more = wire.ToolCallDelta(index=event.index, function=wire.FunctionDelta(arguments=fragment))
        return self._frame(event.choice, wire.Delta(tool_calls=[more]))

    def _content(self, choice: int, text: str) -> bytes:
        return self._frame(choice, wire.Delta(content=text), logprobs=self._scores(choice)) if text else b""

    def _scores(self, choice: int) -> wire.Logprobs | UnsetType:
        line = self._lines[choice]
        if not line.scores:
            return UNSET
        scores, line.scores = line.scores, []
        return wire.Logprobs(scores)

    def _finish(self, event: Finished) -> bytes:
        self._spent[event.choice] = event.usage
        extension = extension_of(event, explain_cache=self._head.explain_cache)
        said = self._frame(
            event.choice,
            wire.Delta(),
            reason=REASONS[event.reason],
            logprobs=self._scores(event.choice),
            extension=UNSET if extension == Extension() else extension,
        )
        if len(self._spent) < self._head.choices:
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
        delta: wire.Delta,
        *,
        reason: wire.FinishReason | None = None,
        logprobs: wire.Logprobs | UnsetType = UNSET,
        extension: Extension | UnsetType = UNSET,
    ) -> bytes:
        said = wire.ChunkChoice(
            index=choice, delta=delta, finish_reason=reason, logprobs=logprobs, mlxp=extension
        )
        return self._chunk([said], None if self._include_usage else UNSET)

    def _chunk(self, choices: list[wire.ChunkChoice], usage: TokenUsage | UnsetType | None) -> bytes:
        chunk = wire.Chunk(
            id=self._head.id,
            created=self._head.created,
            model=self._model,
            system_fingerprint=self._head.fingerprint,
            choices=choices,
            usage=usage,
        )
        return sse.frame(self._encoder.encode(chunk))
