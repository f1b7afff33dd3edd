"""Events -> the bytes of a stream of a response."""

from collections.abc import Iterable

import msgspec

from mlxp_core.types import Event, Failed, Finished, WireResponse
from mlxp_protocols import sse
from mlxp_protocols.openai_responses import errors
from mlxp_protocols.openai_responses.encode import Teller
from mlxp_protocols.openai_responses.wire_events import StreamEvent


class StreamEncoder:
    """Writes every event as a frame with its name; the last is the finished response, and no ``[DONE]`` follows."""

    streaming = True
    media_type = sse.MEDIA_TYPE

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._encoder = msgspec.json.Encoder()
        self._sent = False
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the frames for one event; nothing follows the end."""
        if self._over:
            return b""
        match event:
            case Failed():
                return self._fail(event)
            case Finished():
                self._over = True
        return self._frames(self._teller.take(event))

    def keep_alive(self) -> bytes:
        """Return ``response.in_progress`` again: clients that watch for silence count events, not comments."""
        return b"" if self._over else self._frames(self._teller.remind())

    def failure(self) -> WireResponse | None:
        """Return the error response if nothing was sent before the failure."""
        return self._failure

    def _fail(self, event: Failed) -> bytes:
        self._over = True
        if self._sent:
            return self._frames(self._teller.fail(event))
        self._failure = errors.whole(event)
        return b""

    def _frames(self, said: Iterable[StreamEvent]) -> bytes:
        frames = b"".join(
            sse.frame(self._encoder.encode(event), str(event.__struct_config__.tag)) for event in said
        )
        self._sent = self._sent or bool(frames)
        return frames
