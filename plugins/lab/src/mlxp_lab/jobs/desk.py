"""Where jobs are asked for, and told to stop, to go on, to run again, to be forgotten."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from mlxp_core.errors import Conflict, NotFound
from mlxp_lab.jobs.events import StateEvent
from mlxp_lab.jobs.journal import Journal
from mlxp_lab.jobs.kind import Chat, JobKind, Site
from mlxp_lab.jobs.kinds import Kinds, kind_named
from mlxp_lab.jobs.parameters import kept, prepared, read_parameters
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.retention import Retention, forgettable
from mlxp_lab.jobs.store import NewJob, Store


class JobDesk:
    """The jobs of one lab. Reads and writes files: not for the event-loop thread."""

    def __init__(
        self,
        store: Store,
        site: Site,
        kinds: Callable[[], Kinds],
        *,
        chat: Chat = "first",
        retention: Retention = Retention(),  # noqa: B008  # frozen
    ) -> None:
        """Open a desk.

        Args:
            store: where jobs are kept.
            site: where they are at home.
            kinds: asks plugins what they bring.
            chat: who goes first, where a job does not say.
            retention: how long jobs that have ended are remembered.
        """
        self.store = store
        self.site = site
        self._ask_kinds = kinds
        self._kinds: Kinds | None = None
        self._chat = chat
        self._retention = retention

    @property
    def kinds(self) -> Kinds:
        """Return all kinds of jobs by name; asked for once."""
        if self._kinds is None:
            self._kinds = self._ask_kinds()
        return self._kinds

    def submit(self, kind: str, parameters: object, *, chat: Chat | None = None) -> Job:
        """Keep a job, which waits for its turn from now on.

        Args:
            kind: its name.
            parameters: JSON values.
            chat: who goes first while it has the device; ``None`` = as the settings say.

        Raises:
            NotFound: there is no such kind.
            BadParameters: a parameter is wrong.
        """
        meant = kind_named(kind, self.kinds)
        return self._keep(meant, prepared(meant, read_parameters(meant, parameters), self.site), chat)

    def get(self, job_id: str) -> Job:
        """Return a job.

        Raises:
            NotFound: there is no such job.
        """
        job = self.store.get(job_id)
        if job is None:
            raise NotFound(f"there is no job {job_id!r}", param="id")
        return job

    def cancel(self, job_id: str) -> Job:
        """Have a job stop; it does so within seconds.

        Raises:
            NotFound: there is no such job.
            Conflict: it has ended.
        """
        job = self.get(job_id)
        if self.store.cancel_queued(job_id):
            self._tell(StateEvent(at=self.store.now_ms(), state="cancelled", attempt=job.attempt), job)
        elif not self.store.ask_cancel(job_id):
            raise Conflict(f"{job_id} is {self.get(job_id).state} already", param="id")
        return self.get(job_id)

    def resume(self, job_id: str) -> Job:
        """Have a job that ended badly go on with what it has kept.

        Raises:
            NotFound: there is no such job, or its kind is not there any more.
            Conflict: its kind cannot go on, or it did not end badly.
        """
        job = self.get(job_id)
        if not kind_named(job.kind, self.kinds).resumable:
            raise Conflict(f"jobs of kind {job.kind!r} cannot go on; retry {job_id} instead", param="id")
        if not self.store.requeue(job_id):
            raise Conflict(
                f"{job_id} is {self.get(job_id).state}; only what failed or was cancelled can go on",
                param="id",
            )
        self._tell(StateEvent(at=self.store.now_ms(), state="queued", attempt=job.attempt), job)
        return self.get(job_id)

    def retry(self, job_id: str) -> Job:
        """Ask for the same again, as a new job.

        Raises:
            NotFound: there is no such job, or its kind is not there any more.
            Conflict: it has not ended.
            BadParameters: what was asked then cannot be asked now.
        """
        job = self.get(job_id)
        if not job.ended:
            raise Conflict(f"{job_id} is {job.state}; it can be tried again when it has ended", param="id")
        kind = kind_named(job.kind, self.kinds)
        parameters = prepared(kind, read_parameters(kind, job.parameters), self.site)
        return self._keep(kind, parameters, job.chat, retry_of=job_id)

    def remove(self, job_id: str) -> None:
        """Forget a job with its log and its own folder; what it made stays.

        Raises:
            NotFound: there is no such job.
            Conflict: it has not ended.
        """
        job = self.get(job_id)
        if not self.store.remove(job_id):
            raise Conflict(f"{job_id} is {job.state}; cancel it first", param="id")
        shutil.rmtree(self.store.place_of(job_id), ignore_errors=True)

    def forget_old(self) -> None:
        """Forget what ended too long ago."""
        for job in forgettable(self.store.ended(), self._retention, self.store.now_ms()):
            self.remove(job.id)

    def _keep(
        self, kind: JobKind[Any], parameters: Any, chat: Chat | None, *, retry_of: str | None = None
    ) -> Job:
        job = self.store.add(
            NewJob(
                kind=kind.name,
                title=kind.name if kind.title is None else kind.title(parameters),
                device=kind.device,
                chat=chat or self._chat,
                parameters=kept(parameters),
                retry_of=retry_of,
            )
        )
        self._tell(StateEvent(at=job.created_at, state="queued"), job)
        self.forget_old()
        return job

    def _tell(self, event: StateEvent, job: Job) -> None:
        Journal(self.store.place_of(job.id)).write(event)
