"""Responses that are kept: shown, listed, deleted. Nothing here waits."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from mlxp_core.contracts import Services
from mlxp_core.errors import BadRequest, NotFound
from mlxp_core.types import WireRequest, WireResponse
from mlxp_protocols.openai_responses.store import ResponseStore, Turn
from mlxp_protocols.openai_responses.wire_answer import Deleted, ItemList


class Page(Struct, frozen=True):
    """Which items of a list are asked for."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"
    after: str | None = None


class _IdOf(Struct, frozen=True):
    id: str


class KeptResponses:
    """Answers about responses that are kept."""

    def __init__(self, store: ResponseStore) -> None:
        self._store = store

    def show(self, request: WireRequest, _services: Services) -> WireResponse:
        """Return a response as it ended.

        Raises:
            NotFound: it is not kept.
            BadRequest: it is asked for as a stream.
        """
        if request.query.get("stream") == "true":
            raise BadRequest(
                "stream: a response that has ended is not streamed again; leave it out", param="stream"
            )
        return WireResponse(body=self._turn(request).body)

    def delete(self, request: WireRequest, _services: Services) -> WireResponse:
        """Forget a response; raises ``NotFound``."""
        turn = self._turn(request)
        self._store.drop(turn.id)
        return WireResponse(body=msgspec.json.encode(Deleted(id=turn.id)))

    def input_items(self, request: WireRequest, _services: Services) -> WireResponse:
        """Return a page of all items that a response answered, earlier turns included.

        Raises:
            NotFound: the response is not kept.
            BadRequest: the page cannot be read, or begins after an item that is not there.
        """
        items = self._turn(request).before()
        return WireResponse(body=msgspec.json.encode(_paged(items, _page(request.query))))

    def cancel(self, request: WireRequest, _services: Services) -> WireResponse:
        """Refuse: only responses in the background can be cancelled, and there are none; raises ``NotFound``."""
        turn = self._turn(request)
        raise BadRequest(
            f"{turn.id} did not run in the background and has ended; to stop a response that runs, close its "
            "connection, or POST /v1/requests/{id}/cancel"
        )

    def _turn(self, request: WireRequest) -> Turn:
        response_id = request.params["response_id"]
        turn = self._store.get(response_id)
        if turn is None:
            raise NotFound(
                f"no response {response_id!r} is kept here; it expired, was deleted, was made with store: false, "
                "or still runs"
            )
        return turn


def _page(query: Mapping[str, str]) -> Page:
    try:
        return msgspec.convert(dict(query), Page, strict=False)
    except msgspec.ValidationError as error:
        field = str(error).rpartition("`$.")[2].rstrip("`")
        raise BadRequest(f"{field}: {error}; limit is 1 to 100, order is asc or desc", param=field) from error


def _paged(items: list[Raw], page: Page) -> ItemList:
    ordered = items if page.order == "asc" else items[::-1]
    ids = [msgspec.json.decode(item, type=_IdOf).id for item in ordered]
    if page.after is not None and page.after not in ids:
        raise BadRequest(f"after: no item {page.after!r} is in this list", param="after")
    first = 0 if page.after is None else ids.index(page.after) + 1
    shown = slice(first, first + page.limit)
    return ItemList(
        data=ordered[shown],
        first_id=next(iter(ids[shown]), None),
        last_id=next(reversed(ids[shown]), None),
        has_more=len(ids) > first + page.limit,
    )
