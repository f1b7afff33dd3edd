"""Events -> the bytes of a stream of server-sent events.

The order is ``message_start``, then blocks one after the other, then ``message_delta`` and ``message_stop``; a ping may
come anywhere. The start waits until the prompt is counted, as it tells how long the prompt is. A block of a call
begins with the first piece of its arguments, and they are complete JSON only when the call is done: a call that breaks
before is no block at all, one that breaks later is a block that no client can run, and its text follows.
"""

from typing import Literal

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
    Usage,
    WireResponse,
)
from mlxp_protocols import sse
from mlxp_protocols.anthropic_messages import errors
from mlxp_protocols.anthropic_messages import wire_answer as wire
from mlxp_protocols.anthropic_messages.encode import Head, call_id_of, ending_of, extension_of, usage_of
from mlxp_protocols.fragments import HeldEnd

_Kind = Literal["text", "thinking", "tool_use"]

_NO_ARGUMENTS = Raw(b"{}")


class StreamEncoder:
    """Writes the events of one message."""

    streaming = True
    media_type = sse.MEDIA_TYPE

    def __init__(self, head: Head) -> None:
        self._head = head
        self._model = head.model
        self._seed: int | None = None
        self._encoder = msgspec.json.Encoder()
        self._begun = False
        self._open: _Kind | None = None
        self._index = -1
        self._call: CallStarted | None = None  # its block has not begun
        self._arguments = HeldEnd()
        self._sent = False
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the events for one event; nothing follows the end."""
        said = b"" if self._over else self._say(event)
        self._sent = self._sent or bool(said)
        return said

    def keep_alive(self) -> bytes:
        """Return a ping."""
        if self._over:
            return b""
        self._sent = True
        return self._frame("ping", wire.Ping())

    def failure(self) -> WireResponse | None:
        """Return the error response if nothing was sent before the failure."""
        return self._failure

    def _say(self, event: Event) -> bytes:
        said = b""
        match event:
            case TextDelta(text=text):
                said = self._text(text)
            case ThinkingDelta(text=text):
                said = self._thought(text)
            case CallStarted() | CallDelta() | CallDone() | CallBroken():
                said = self._called(event)
            case Started(model=model, seed=seed):
                self._model, self._seed = model, seed
            case Prefilled(total=total, cached=cached):
                said = self._begin(Usage(prompt=total, cached=cached))
            case Finished():
                said = self._finish(event)
            case Failed():
                said = self._fail(event)
            case Scored():
                return b""
        return said

    def _begin(self, usage: Usage) -> bytes:
        """Return the start of the message, once."""
        if self._begun:
            return b""
        self._begun = True
        message = wire.AnswerMessage(
            id=self._head.id,
            model=self._model,
            content=[],
            usage=usage_of(usage),
            mlxp=wire.Extension(seed=self._seed),
        )
        return self._frame("message_start", wire.MessageStart(message))

    def _text(self, text: str) -> bytes:
        begun = self._block("text", wire.TextBlock(""))
        return begun + self._delta(wire.TextDelta(text))

    def _thought(self, text: str) -> bytes:
        begun = self._block("thinking", wire.ThinkingBlock(""))
        return begun + self._delta(wire.ThinkingDelta(text)) if self._head.shows_thinking else begun

    def _called(self, event: CallStarted | CallDelta | CallDone | CallBroken) -> bytes:
        match event:
            case CallStarted():
                self._call = event
                self._arguments.forget()
                return b""
            case CallDelta(arguments=arguments):
                return self._argue(self._arguments.push(arguments))
            case CallDone():
                return self._argue(self._arguments.release()) + self._close()
            case CallBroken(text=text):
                closed = self._close() if self._open == "tool_use" else b""
                self._call = None
                return closed + self._text(text) if text else closed

    def _argue(self, fragment: str) -> bytes:
        """Return more of the arguments; the first piece begins the block."""
        if not fragment:
            return b""
        begun = b""
        if self._call is not None:
            block = wire.ToolUseBlock(call_id_of(self._call.id), self._call.name, _NO_ARGUMENTS)
            begun = self._close() + self._block("tool_use", block)
            self._call = None
        return begun + self._delta(wire.InputDelta(fragment))

    def _block(self, kind: _Kind, block: wire.Block) -> bytes:
        """Return the beginning of a block, unless one of its kind is open."""
        if self._open == kind:
            return b""
        before = self._begin(Usage()) + self._close()
        self._open = kind
        self._index += 1
        return before + self._frame("content_block_start", wire.BlockStart(self._index, block))

    def _close(self) -> bytes:
        """Return the end of the open block, if there is one."""
        if self._open is None:
            return b""
        signed = self._delta(wire.SignatureDelta()) if self._open == "thinking" else b""
        self._open = None
        return signed + self._frame("content_block_stop", wire.BlockStop(self._index))

    def _finish(self, event: Finished) -> bytes:
        self._over = True
        said = self._begin(event.usage)
        if self._index < 0:
            said += self._block("text", wire.TextBlock(""))
        end = wire.MessageDelta(ending_of(event), usage_of(event.usage), extension_of(self._head, event))
        return (
            said
            + self._close()
            + self._frame("message_delta", end)
            + self._frame("message_stop", wire.MessageStop())
        )

    def _fail(self, event: Failed) -> bytes:
        self._over = True
        if self._sent:
            return errors.in_stream(event, self._head.request_id)
        self._failure = errors.whole(event, self._head.request_id)
        return b""

    def _delta(self, delta: wire.Delta) -> bytes:
        return self._frame("content_block_delta", wire.BlockDelta(self._index, delta))

    def _frame(self, name: str, event: Struct) -> bytes:
        return sse.frame(self._encoder.encode(event), name)
