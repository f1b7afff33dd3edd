"""What this plugin brings: ``GET /v1/requests``, and an observer that remembers what ended."""

import time

import msgspec

from mlxp_core import hookimpl
from mlxp_core.contracts import Query, Services, WireProtocol
from mlxp_core.errors import BadRequest
from mlxp_core.types import RequestRecord, WireRequest, WireResponse
from mlxp_protocols import openai_error
from mlxp_protocols.requests.recent import KEPT, Recent
from mlxp_protocols.requests.wire import RequestList


class RequestsPlugin:
    """Remembers the last choices, for as long as the server lives."""

    def __init__(self) -> None:
        """Begin with none."""
        self._recent = Recent(time.time)

    @hookimpl
    def mlxp_request_finished(self, record: RequestRecord) -> None:
        """Remember it."""
        self._recent.add(record)

    @hookimpl
    def mlxp_protocols(self) -> list[WireProtocol]:
        """Return the one path."""
        path = Query(
            path="/v1/requests",
            answer=self._list,
            returns=RequestList,
            summary="List what runs and what ended last",
            raises=(BadRequest,),
        )
        return [
            WireProtocol(
                name="requests",
                endpoints=(path,),
                render_error=openai_error.render,
                error=openai_error.ErrorBody,
            )
        ]

    def _list(self, request: WireRequest, services: Services) -> WireResponse:
        body = RequestList(running=services.requests(), ended=self._recent.newest(_limit(request)))
        return WireResponse(body=msgspec.json.encode(body))


def _limit(request: WireRequest) -> int:
    text = request.query.get("limit", str(KEPT))
    if not (text.isascii() and text.isdigit() and len(text) < 10):  # noqa: PLR2004  # digits
        raise BadRequest(f"limit must be a whole number, not {text!r}", param="limit")
    return int(text)
