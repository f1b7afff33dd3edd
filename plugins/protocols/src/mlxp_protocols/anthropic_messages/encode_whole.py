"""Events -> the bytes of a whole answer: the blocks that a stream would have told, without calls that broke."""

import msgspec
from msgspec import Raw, Struct

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
from mlxp_protocols.anthropic_messages import errors
from mlxp_protocols.anthropic_messages import wire_answer as wire
from mlxp_protocols.anthropic_messages.encode import Head, call_id_of, ending_of, extension_of, usage_of


class _Words(Struct):
    """Text or thinking as far as it is said."""

    thinking: bool
    pieces: list[str]


class WholeEncoder:
    """Writes one message when the answer has ended."""

    streaming = False
    media_type = "application/json"

    def __init__(self, head: Head) -> None:
        self._head = head
        self._model = head.model
        self._seed: int | None = None
        self._said: list[_Words | wire.ToolUseBlock] = []
        self._call: CallStarted | None = None
        self._arguments: list[str] = []
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the body after the last event, and nothing before."""
        if self._over:
            return b""
        match event:
            case Finished():
                self._over = True
                return self._body(event)
            case Failed():
                self._over = True
                self._failure = errors.whole(event, self._head.request_id)
            case Started(model=model, seed=seed):
                self._model, self._seed = model, seed
            case TextDelta(text=text) | CallBroken(text=text):
                self._say(text, thinking=False)
            case ThinkingDelta(text=text):
                self._say(text, thinking=True)
            case CallStarted() | CallDelta() | CallDone():
                self._take(event)
            case Prefilled() | Scored():
                pass
        return b""

    def keep_alive(self) -> bytes:
        """Return nothing: the body is one piece."""
        return b""

    def failure(self) -> WireResponse | None:
        """Return the error response if the answer failed."""
        return self._failure

    def _say(self, text: str, *, thinking: bool) -> None:
        match self._said[-1:]:
            case [_Words(thinking=same, pieces=pieces)] if same == thinking:
                pieces.append(text)
            case _:
                self._said.append(_Words(thinking, [text]))

    def _take(self, event: CallStarted | CallDelta | CallDone) -> None:
        match event:
            case CallStarted():
                self._call, self._arguments = event, []
            case CallDelta(arguments=arguments):
                self._arguments.append(arguments)
            case CallDone() if self._call is not None:
                given = Raw("".join(self._arguments).encode())
                self._said.append(wire.ToolUseBlock(call_id_of(self._call.id), self._call.name, given))

    def _body(self, end: Finished) -> bytes:
        ending = ending_of(end)
        message = wire.AnswerMessage(
            id=self._head.id,
            model=self._model,
            content=[self._block(said) for said in self._said] or [wire.TextBlock("")],
            stop_reason=ending.stop_reason,
            stop_sequence=ending.stop_sequence,
            usage=usage_of(end.usage),
            mlxp=extension_of(self._head, end, self._seed),
        )
        return msgspec.json.encode(message)

    def _block(self, said: _Words | wire.ToolUseBlock) -> wire.Block:
        match said:
            case wire.ToolUseBlock():
                return said
            case _Words(thinking=True, pieces=pieces):
                return wire.ThinkingBlock("".join(pieces) if self._head.shows_thinking else "")
            case _Words(pieces=pieces):
                return wire.TextBlock("".join(pieces))
