"""Bodies of ``/api/jobs``."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from mlxp_lab.jobs.kind import Chat, Device
from mlxp_lab.jobs.record import Job


class JobList(Struct, frozen=True, kw_only=True):
    """The newest jobs, newest first."""

    jobs: tuple[Job, ...]


class JobRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What job is wanted; ``parameters`` as ``GET /api/jobs/kinds`` says."""

    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)
    chat: Chat | None = None


class KindCard(Struct, frozen=True, kw_only=True):
    """One kind of job; ``parameters`` is the JSON schema of what it takes."""

    name: str
    summary: str
    device: Device
    resumable: bool
    parameters: dict[str, Any]


class KindList(Struct, frozen=True, kw_only=True):
    """Every kind of job."""

    kinds: tuple[KindCard, ...]
