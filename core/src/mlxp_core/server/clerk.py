"""Has transcripts of answers kept, and tells one to whoever asks for it in place of the answer."""

import asyncio
import time
from collections.abc import Callable

import msgspec

from mlxp_core.desk import Ticket
from mlxp_core.server.records import Records
from mlxp_core.server.transcript import transcript
from mlxp_core.types import TRANSCRIPT_TYPE, Transcript, WireRequest, WireResponse


class Clerk:
    """One server's. Belongs to the event-loop thread."""

    def __init__(self, version: str, records: Records | None, now: Callable[[], float] = time.time) -> None:
        """Begin.

        Args:
            version: of the server.
            records: where transcripts are kept; ``None`` = nowhere.
            now: seconds since 1970.
        """
        self._version = version
        self._records = records
        self._now = now

    def note(self, ticket: Ticket, wire: WireRequest, protocol: str) -> None:
        """Have the transcript kept when the request has ended, if any are."""
        if self._records is not None:
            records, make = self._records, self._maker(ticket, wire, protocol)
            ticket.when_ended(lambda: records.keep(make))

    async def tell(self, ticket: Ticket, wire: WireRequest, protocol: str) -> WireResponse:
        """Return the transcript when the request has ended; cancelling the wait cancels the request."""
        make = self._maker(ticket, wire, protocol)
        with ticket.listen() as listener:
            while not listener.done:
                await listener.more()
        body = await asyncio.to_thread(lambda: msgspec.json.encode(make()))
        return WireResponse(body=body, media_type=TRANSCRIPT_TYPE)

    def _maker(self, ticket: Ticket, wire: WireRequest, protocol: str) -> Callable[[], Transcript]:
        at_s = self._now()
        return lambda: transcript(ticket, wire, protocol=protocol, version=self._version, at_s=at_s)


def wants_transcript(wire: WireRequest) -> bool:
    """Say whether the transcript is asked for in place of the answer."""
    return TRANSCRIPT_TYPE in wire.headers.get("accept", "")
