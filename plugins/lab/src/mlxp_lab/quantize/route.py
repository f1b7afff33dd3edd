"""``POST /api/quantize/inspect``: answered by the command, in a process of its own: arrays are for one thread alone."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec
from litestar import Request, post
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import BadRequest, EngineFault
from mlxp_lab.jobs import Site
from mlxp_lab.lab import environment_of
from mlxp_lab.quantize.inspect import Inspection

_LONGEST_S = 120.0


class InspectRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model: a folder, or a name that a plugin knows."""

    model: str


def inspecting(site: Site) -> HTTPRouteHandler:
    """Return the route; ``site`` is where jobs are at home."""

    @post(
        "/api/quantize/inspect",
        status_code=200,
        summary="Say what each way to pack a model would cost",
        tags=["quantize"],
        opt={ACCESS: "admin"},
    )
    async def inspected(request: Request[Any, Any, Any]) -> Inspection:
        try:
            asked = msgspec.json.decode(await request.body(), type=InspectRequest)
        except msgspec.MsgspecError as error:
            raise BadRequest(f'the body must say which model, as {{"model": "..."}}: {error}') from error
        return await _inspection(asked.model, site)

    return inspected


async def _inspection(model: str, site: Site) -> Inspection:
    if "\0" in model:
        raise BadRequest("a model's name has no character 0", param="model")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mlxp_core", "quantize", "--inspect", "--json", "--", model),
        env=environment_of(site, os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        told, complaint = await asyncio.wait_for(process.communicate(), _LONGEST_S)
    except BaseException:  # nobody waits any more
        process.kill()
        raise
    words = complaint.decode("utf-8", "replace").strip().rpartition("mlxp: ")[2]
    if process.returncode == 1:
        raise BadRequest(words, param="model")
    if process.returncode != 0:
        raise EngineFault(f"looking at {model!r} failed: {words[-500:]}")
    return msgspec.json.decode(told, type=Inspection)
