"""``/api/datasets``: list, import, look into, edit, split, remove. All that reads files runs on other threads."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from litestar import Request, delete, get, post
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import BadRequest, NotFound
from mlxp_lab.datasets.bodies import CardList, CleanRequest, EditRequest, ImportRequest, SplitRequest
from mlxp_lab.datasets.cleaning import Cleaning, clean
from mlxp_lab.datasets.editing import Edited, RowPage, edit, page
from mlxp_lab.datasets.importing import import_into
from mlxp_lab.datasets.inspect import Inspection, inspect
from mlxp_lab.datasets.shelf import SPLITS, Card, Shelf, card_of, split_file
from mlxp_lab.datasets.sieve import Limits
from mlxp_lab.datasets.splitting import split_anew

TAGS = ["datasets"]
ADMIN = {ACCESS: "admin"}
MOST = 500
USUAL = 50
"""How many rows a page may have, and how many it has."""

HttpRequest = Request[Any, Any, Any]
B = TypeVar("B", bound=Struct)


def routes(shelf: Shelf) -> list[HTTPRouteHandler]:
    """Return the routes."""
    return [*_looking(shelf), *_doing(shelf)]


def _looking(shelf: Shelf) -> list[HTTPRouteHandler]:
    @get("/api/datasets", summary="List the datasets", tags=TAGS, sync_to_thread=True)
    def listed() -> CardList:
        return CardList(datasets=tuple(shelf.cards()))

    @get("/api/datasets/{name:str}", summary="Show a dataset", tags=TAGS, sync_to_thread=True)
    def shown(request: HttpRequest) -> Card:
        return card_of(_place(shelf, request))

    @get("/api/datasets/{name:str}/inspect", summary="Inspect a dataset", tags=TAGS, sync_to_thread=True)
    def inspected(request: HttpRequest) -> Inspection:
        return inspect(_place(shelf, request))

    @get("/api/datasets/{name:str}/rows", summary="Show rows of a dataset", tags=TAGS, sync_to_thread=True)
    def rows(request: HttpRequest) -> RowPage:
        asked = request.query_params
        file = _file(_place(shelf, request), asked.get("split", "train"))
        return page(file, _number(asked, "offset", 0, 10**12), _number(asked, "limit", USUAL, MOST))

    return [listed, shown, inspected, rows]


def _doing(shelf: Shelf) -> list[HTTPRouteHandler]:
    @post("/api/datasets", status_code=201, summary="Import a dataset", tags=TAGS, opt=ADMIN)
    async def made(request: HttpRequest) -> Card:
        return await asyncio.to_thread(_made, shelf, await request.body())

    @post("/api/datasets/{name:str}/rows", status_code=200, summary="Edit rows", tags=TAGS, opt=ADMIN)
    async def edited(request: HttpRequest) -> Edited:
        asked = _asked(await request.body(), EditRequest, '{"split": "train", "version": "...", "edits": []}')
        return await asyncio.to_thread(
            lambda: edit(_file(_place(shelf, request), asked.split), asked.version, asked.edits)
        )

    @post("/api/datasets/{name:str}/split", status_code=200, summary="Split anew", tags=TAGS, opt=ADMIN)
    async def split(request: HttpRequest) -> Card:
        asked = _asked(await request.body(), SplitRequest, '{"valid": 0.1, "test": 0, "seed": 0}')
        return await asyncio.to_thread(
            lambda: split_anew(_place(shelf, request), valid=asked.valid, test=asked.test, seed=asked.seed)
        )

    @post("/api/datasets/{name:str}/clean", status_code=200, summary="Leave rows out", tags=TAGS, opt=ADMIN)
    async def cleaned(request: HttpRequest) -> Cleaning:
        asked = _asked(await request.body(), CleanRequest, '{"shortest": 1, "near": 0.8, "really": false}')
        limits = Limits(shortest=asked.shortest, near=asked.near)
        return await asyncio.to_thread(lambda: clean(_place(shelf, request), limits, really=asked.really))

    @delete("/api/datasets/{name:str}", status_code=204, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def removed(request: HttpRequest) -> None:
        """Remove a dataset."""
        shelf.remove(str(request.path_params["name"]))

    return [made, edited, split, cleaned, removed]


def _made(shelf: Shelf, body: bytes) -> Card:
    asked = _asked(body, ImportRequest, '{"name": "...", "format": "jsonl", "text": "..."}')
    return import_into(shelf, asked.content(), asked)


def _place(shelf: Shelf, request: HttpRequest) -> Path:
    return shelf.get(str(request.path_params["name"]))


def _file(place: Path, name: str) -> Path:
    split = next((split for split in SPLITS if split == name), None)
    if split is None:
        raise BadRequest(f"split must be one of {', '.join(SPLITS)}, not {name!r}", param="split")
    found = split_file(place, split)
    if found is None:
        raise NotFound(f"the dataset {place.name!r} has no {split} rows", param="split")
    return found


def _number(asked: Any, name: str, usual: int, most: int) -> int:
    given = asked.get(name)
    if given is None:
        return usual
    if not (given.isascii() and given.isdigit() and len(given) <= len(str(most)) and int(given) <= most):
        raise BadRequest(f"{name} must be a whole number from 0 to {most}, not {given!r}", param=name)
    return int(given)


def _asked(body: bytes, shape: type[B], example: str) -> B:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadRequest(f"the body must be as {example}: {error}") from error
