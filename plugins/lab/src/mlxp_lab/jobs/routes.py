"""``/api/jobs``: list, show, follow, submit, cancel, resume, retry, forget. Disk and database on other threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Request, delete, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import Parameter
from litestar.response import Stream

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import BadRequest, SetupError
from mlxp_lab.jobs.desk import JobDesk
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Store
from mlxp_lab.jobs.stream import stream
from mlxp_lab.jobs.wire import JobList, JobRequest, KindCard, KindList

TAGS = ["jobs"]
ADMIN = {ACCESS: "admin"}
MOST = 500

Desk = Callable[[], JobDesk]
"""Returns the desk; makes the lab with the first call."""


def routes(desk: Desk, known: Callable[[], bool], wake: Callable[[], None]) -> list[HTTPRouteHandler]:
    """Return the routes.

    Args:
        desk: asks for the desk.
        known: says whether there is a lab, so that a look makes none.
        wake: called when there is something to do.
    """
    return [*_looking(desk, known), *_doing(desk, wake)]


def _looking(desk: Desk, known: Callable[[], bool]) -> list[HTTPRouteHandler]:
    @get("/api/jobs", summary="List the jobs", tags=TAGS, sync_to_thread=True)
    def listed(limit: Annotated[int, Parameter(ge=1, le=MOST)] = 50, kind: str | None = None) -> JobList:
        return JobList(jobs=tuple(desk().store.newest(limit, kind)) if known() else ())

    @get(
        "/api/jobs/kinds", summary="List the kinds of jobs and what they take", tags=TAGS, sync_to_thread=True
    )
    def kinds() -> KindList:
        return KindList(kinds=tuple(_card(kind) for kind in desk().kinds.values()))

    @get("/api/jobs/{job_id:str}", summary="Show a job", tags=TAGS, sync_to_thread=True)
    def shown(job_id: str) -> Job:
        return desk().get(job_id)

    @get(
        "/api/jobs/{job_id:str}/stream",
        summary="Follow a job's events",
        description="Server-sent events; `Last-Event-ID` goes on behind an event.",
        media_type="text/event-stream",
        tags=TAGS,
        sync_to_thread=True,
    )
    def followed(request: Request[Any, Any, Any], job_id: str) -> Stream:
        start = _place(request.headers.get("last-event-id"))
        store: Store = desk().store
        desk().get(job_id)
        return Stream(
            stream(store, job_id, start),
            media_type="text/event-stream",
            headers={"cache-control": "no-cache", "x-accel-buffering": "no"},
        )

    return [listed, kinds, shown, followed]


def _doing(desk: Desk, wake: Callable[[], None]) -> list[HTTPRouteHandler]:
    def done(job: Job) -> Job:
        wake()
        return job

    @post("/api/jobs", status_code=202, summary="Submit a job", tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def submit(body: bytes) -> Job:
        asked = _asked(body)
        try:
            return done(desk().submit(asked.kind, asked.parameters, chat=asked.chat))
        except SetupError as error:  # a model that is damaged, as the body names it
            raise BadRequest(error.message) from error

    @post("/api/jobs/{job_id:str}/cancel", status_code=202, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def cancel(job_id: str) -> Job:
        """Have a job stop."""
        return done(desk().cancel(job_id))

    @post("/api/jobs/{job_id:str}/resume", status_code=202, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def resume(job_id: str) -> Job:
        """Have a job go on that failed or was cancelled."""
        return done(desk().resume(job_id))

    @post("/api/jobs/{job_id:str}/retry", status_code=202, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def retry(job_id: str) -> Job:
        """Ask for the same again."""
        try:
            return done(desk().retry(job_id))
        except SetupError as error:
            raise BadRequest(error.message) from error

    @delete("/api/jobs/{job_id:str}", status_code=204, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def forget(job_id: str) -> None:
        """Forget a job that has ended; what it made stays."""
        desk().remove(job_id)

    return [submit, cancel, resume, retry, forget]


def _asked(body: bytes) -> JobRequest:
    try:
        return msgspec.json.decode(body, type=JobRequest)
    except msgspec.MsgspecError as error:
        raise BadRequest(
            f'the body must say which job, as {{"kind": "...", "parameters": {{}}}}: {error}'
        ) from error


def _place(given: str | None) -> int:
    return int(given) if given is not None and given.isascii() and given.isdigit() else 0


def _card(kind: Any) -> KindCard:
    return KindCard(
        name=kind.name,
        summary=kind.summary,
        device=kind.device,
        resumable=kind.resumable,
        parameters=msgspec.json.schema(kind.parameters),
    )
