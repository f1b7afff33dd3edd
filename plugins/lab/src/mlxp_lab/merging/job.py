"""The kind of job that merges."""

from __future__ import annotations

from pathlib import Path

from mlxp_lab.jobs import JobContext, JobKind, JobResult
from mlxp_lab.merging.parameters import MergeParameters, prepare


def run(parameters: MergeParameters, context: JobContext) -> JobResult:
    """Merge adapters."""
    from mlxp_lab.merging.work import merge  # noqa: PLC0415  # it loads MLX

    return merge(parameters, context)


KIND = JobKind(
    name="merge",
    summary="Make one adapter of several, or write one in another form.",
    parameters=MergeParameters,
    prepare=prepare,
    run=run,
    title=lambda parameters: Path(parameters.output).name,
    device="cpu",
)
