"""A job as it is kept, and as ``/api/jobs`` shows it."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from mlxp_lab.jobs.kind import Chat, Device

State = Literal["queued", "starting", "running", "done", "failed", "cancelled"]
LIVE: tuple[State, ...] = ("starting", "running")
"""States of a job that has a process, or is getting one."""
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")


class Whose(Struct, frozen=True):
    """A process, named so that no later one can be taken for it.

    Attributes:
        host: machine, its boot and its set of process numbers.
        pid: its number.
        started_s: when it began, in seconds since 1970.
    """

    host: str
    pid: int
    started_s: float


class Job(Struct, frozen=True, kw_only=True):
    """One job.

    Attributes:
        title: what it is about.
        parameters: what was asked, complete.
        attempt: how often it has been started; each run has a number of its own.
        progress: share that is done, 0 to 1.
        stage, message: what it does, or did last.
        left_s: seconds until it is done, as far as can be told.
        paused: it gives way to the server's answers.
        output: where what it makes is, or will be.
        result: what came of it.
        error: why it failed.
        created_at, started_at, ended_at, seen_at: milliseconds since 1970; ``seen_at`` is its last sign of life.
        cancel_at: when somebody wanted it to stop.
        retry_of: the job that it repeats.
        whose: the process it is in, or that is about to start one.
    """

    id: str
    kind: str
    title: str
    state: State
    device: Device
    chat: Chat
    parameters: dict[str, Any] = field(default_factory=dict)
    attempt: int = 0
    progress: float = 0.0
    stage: str = ""
    message: str = ""
    left_s: float | None = None
    paused: bool = False
    output: str | None = None
    result: dict[str, Any] | None = None
    error: str | None = None
    created_at: int
    started_at: int | None = None
    ended_at: int | None = None
    seen_at: int | None = None
    cancel_at: int | None = None
    retry_of: str | None = None
    whose: Whose | None = None

    @property
    def ended(self) -> bool:
        """Say whether nothing more will come of it."""
        return self.state in ENDED

    @property
    def live(self) -> bool:
        """Say whether it has a process, or is getting one."""
        return self.state in LIVE
