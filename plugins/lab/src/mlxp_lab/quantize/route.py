"""What a model would cost in each packing, and what packing one has done.

``POST /api/quantize/inspect`` is answered by the command, in a process of its own: arrays are for one thread alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import BadRequest, EngineFault, MlxpError, NotFound
from mlxp_lab.jobs import Site
from mlxp_lab.jobs.desk import JobDesk
from mlxp_lab.lab import environment_of
from mlxp_lab.quantize.files import REPORT
from mlxp_lab.quantize.inspect import Inspection
from mlxp_lab.quantize.report import Report, by_block

_LONGEST_S = 120.0


class InspectRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model: a folder, or a name that a plugin knows."""

    model: str


class JobReport(Struct, frozen=True, kw_only=True):
    """What a job's quantization did; ``blocks``: choice -> (block, its largest sensitivity), for a picture."""

    report: Report
    blocks: Mapping[str, tuple[tuple[int, float], ...]]


def reporting(desk: Callable[[], JobDesk]) -> HTTPRouteHandler:
    """Return the route of reports; ``desk`` asks for the desk."""

    @get(
        "/api/quantize/report/{job_id:str}",
        summary="Say what a quantization did",
        tags=["quantize"],
        sync_to_thread=True,
    )
    def reported(request: Request[Any, Any, Any]) -> JobReport:
        job = desk().get(str(request.path_params["job_id"]))
        if job.kind != "quantize" or job.state != "done" or job.output is None:
            raise NotFound(f"{job.id} has made no quantization", param="id")
        file = Path(job.output) / REPORT
        try:
            report = msgspec.json.decode(file.read_bytes(), type=Report)
        except (OSError, msgspec.MsgspecError) as error:
            raise NotFound(f"the report of {job.id} cannot be read any more: {error}", param="id") from error
        blocks = by_block(report.sensitivity)
        return JobReport(
            report=report, blocks={label: tuple(sorted(told.items())) for label, told in blocks.items()}
        )

    return reported


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
    folder = await asyncio.to_thread(_folder, model, site)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mlxp_core", "quantize", "--inspect", "--json", "--", str(folder)),
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


def _folder(model: str, site: Site) -> Path:
    """Return a model's folder; the other process does not know the names of this server's models."""
    if "\0" in model:
        raise BadRequest("a model's name has no character 0", param="model")
    try:
        return site.models.find(model)
    except MlxpError as error:
        raise BadRequest(error.message, param="model") from error
