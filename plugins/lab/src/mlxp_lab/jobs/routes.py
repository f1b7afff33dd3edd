"""``/api/jobs``: list, show, follow, submit, cancel, resume, retry, forget. Disk and database on other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from litestar import Request, delete, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import BadRequest, SetupError
from mlxp_lab.jobs.desk import JobDesk
from mlxp_lab.jobs.kinds import Kinds
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Store
from mlxp_lab.jobs.stream import stream
from mlxp_lab.jobs.wire import JobList, JobRequest, KindCard, KindList

TAGS = ["jobs"]
ADMIN = {ACCESS: "admin"}
MOST = 500
USUAL = 50
"""How many jobs a list may have, and how many it has."""

HttpRequest = Request[Any, Any, Any]

Desk = Callable[[], JobDesk]
"""Returns the desk; makes the lab with the first call."""


def routes(
    desk: Desk, kinds: Callable[[], Kinds], known: Callable[[], bool], wake: Callable[[], None]
) -> list[HTTPRouteHandler]:
    """Return the routes.

    Args:
        desk: asks for the desk.
        kinds: asks what plugins bring.
        known: says whether there is a lab, so that a look makes none.
        wake: called when there is something to do.
    """
    return [*_looking(desk, kinds, known), *_doing(desk, wake)]


def _looking(desk: Desk, asked: Callable[[], Kinds], known: Callable[[], bool]) -> list[HTTPRouteHandler]:
    @get("/api/jobs", summary="List the jobs", tags=TAGS, sync_to_thread=True)
    def listed(request: HttpRequest) -> JobList:
        limit, kind = _limit(request.query_params.get("limit")), request.query_params.get("kind")
        return JobList(jobs=tuple(desk().store.newest(limit, kind)) if known() else ())

    @get(
        "/api/jobs/kinds", summary="List the kinds of jobs and what they take", tags=TAGS, sync_to_thread=True
    )
    def kinds() -> KindList:
        return KindList(kinds=tuple(_card(kind) for kind in asked().values()))

    @get("/api/jobs/{job_id:str}", summary="Show a job", tags=TAGS, sync_to_thread=True)
    def shown(request: HttpRequest) -> Job:
        return desk().get(_job_id(request))

    @get(
        "/api/jobs/{job_id:str}/stream",
        summary="Follow a job's events",
        description="Server-sent events; `Last-Event-ID` goes on behind an event.",
        media_type="text/event-stream",
        tags=TAGS,
        sync_to_thread=True,
    )
    def followed(request: HttpRequest) -> Stream:
        job_id = _job_id(request)
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

    @post("/api/jobs", status_code=202, summary="Submit a job", tags=TAGS, opt=ADMIN)
    async def submit(request: HttpRequest) -> Job:
        asked = _asked(await request.body())
        return done(await asyncio.to_thread(_submitted, desk, asked))

    @post("/api/jobs/{job_id:str}/cancel", status_code=202, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def cancel(request: HttpRequest) -> Job:
        """Have a job stop."""
        return done(desk().cancel(_job_id(request)))

    @post("/api/jobs/{job_id:str}/resume", status_code=202, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def resume(request: HttpRequest) -> Job:
        """Have a job go on that failed or was cancelled."""
        return done(desk().resume(_job_id(request)))

    @post("/api/jobs/{job_id:str}/retry", status_code=202, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def retry(request: HttpRequest) -> Job:
        """Ask for the same again."""
        with _as_asked():
            return done(desk().retry(_job_id(request)))

    @delete("/api/jobs/{job_id:str}", status_code=204, tags=TAGS, opt=ADMIN, sync_to_thread=True)
    def forget(request: HttpRequest) -> None:
        """Forget a job that has ended; what it made stays."""
        desk().remove(_job_id(request))

    return [submit, cancel, resume, retry, forget]


def _submitted(desk: Desk, asked: JobRequest) -> Job:
    with _as_asked():
        return desk().submit(asked.kind, asked.parameters, chat=asked.chat)


@contextmanager
def _as_asked() -> Iterator[None]:
    """Turn what is wrong with what was named, such as a damaged model, into a fault of the request."""
    try:
        yield
    except SetupError as error:
        raise BadRequest(error.message) from error


def _asked(body: bytes) -> JobRequest:
    try:
        return msgspec.json.decode(body, type=JobRequest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadRequest(
            f'the body must say which job, as {{"kind": "...", "parameters": {{}}}}: {error}'
        ) from error


def _job_id(request: HttpRequest) -> str:
    return str(request.path_params["job_id"])


def _limit(given: str | None) -> int:
    if given is None:
        return USUAL
    if not (given.isascii() and given.isdigit() and 1 <= int(given) <= MOST):
        raise BadRequest(f"limit must be a whole number from 1 to {MOST}, not {given!r}", param="limit")
    return int(given)


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
