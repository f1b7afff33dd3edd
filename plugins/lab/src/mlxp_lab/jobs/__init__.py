"""What whoever brings a kind of job needs; importing this loads neither arrays nor a server."""

from mlxp_lab.jobs.kind import (
    Cancelled,
    Chat,
    Device,
    JobContext,
    JobFailed,
    JobKind,
    JobResult,
    Json,
    Site,
)
from mlxp_lab.jobs.parameters import BadParameters

__all__ = [
    "BadParameters",
    "Cancelled",
    "Chat",
    "Device",
    "JobContext",
    "JobFailed",
    "JobKind",
    "JobResult",
    "Json",
    "Site",
]
