"""``POST /api/train/inspect``: a dataset through a model's eyes, on another thread; no weights are read."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from litestar import Request, post
from litestar.handlers import HTTPRouteHandler

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import BadRequest, SetupError
from mlxp_lab.jobs import Site
from mlxp_lab.training.inspect import Inspection, Question, inspect


def inspecting(site: Site) -> HTTPRouteHandler:
    """Return the route; ``site`` is where jobs are at home."""

    @post(
        "/api/train/inspect",
        status_code=200,
        summary="Say what a dataset is to a model",
        tags=["train"],
        opt={ACCESS: "admin"},
    )
    async def inspected(request: Request[Any, Any, Any]) -> Inspection:
        try:
            asked = msgspec.json.decode(await request.body(), type=Question)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BadRequest(
                f'the body must say which model and which data, as {{"model": "...", "data": "..."}}: {error}'
            ) from error
        if "\0" in asked.model + asked.data:
            raise BadRequest("names have no character 0", param="model" if "\0" in asked.model else "data")
        try:
            return await asyncio.to_thread(inspect, asked, site)
        except SetupError as error:  # of what was named, such as a damaged model
            raise BadRequest(error.message) from error

    return inspected
