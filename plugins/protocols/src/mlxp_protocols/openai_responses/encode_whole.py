"""Events -> the bytes of a whole response: the object that ends the stream of the same events."""

import msgspec

from mlxp_core.types import Event, Failed, Finished, WireResponse
from mlxp_protocols.openai_responses import errors
from mlxp_protocols.openai_responses.encode import Teller


class WholeEncoder:
    """Writes the response when it has ended."""

    streaming = False
    media_type = "application/json"

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the body after the last event, and nothing before."""
        if self._over:
            return b""
        match event:
            case Failed():
                self._over = True
                self._failure = errors.whole(event)
                return b""
            case Finished():
                self._over = True
                self._teller.take(event)
                return msgspec.json.encode(self._teller.response)
            case _:
                self._teller.take(event)
                return b""

    def keep_alive(self) -> bytes:
        """Return nothing: the body is one piece."""
        return b""

    def failure(self) -> WireResponse | None:
        """Return the error response if the request failed."""
        return self._failure
