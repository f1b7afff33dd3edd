"""The kind of job that fuses."""

from __future__ import annotations

from pathlib import Path

from mlxp_lab.fusing.parameters import FuseParameters, prepare
from mlxp_lab.jobs import JobContext, JobKind, JobResult


def run(parameters: FuseParameters, context: JobContext) -> JobResult:
    """Fuse adapters into a model."""
    from mlxp_lab.fusing.work import fuse  # noqa: PLC0415  # it loads MLX

    return fuse(parameters, context)


KIND = JobKind(
    name="fuse",
    summary="Make adapters part of a model's weights: a model of its own.",
    parameters=FuseParameters,
    prepare=prepare,
    run=run,
    title=lambda parameters: Path(parameters.output or parameters.model).name,
)
