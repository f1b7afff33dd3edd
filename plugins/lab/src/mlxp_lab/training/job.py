"""The kind of job that fine-tunes."""

from __future__ import annotations

from pathlib import Path

from mlxp_lab.jobs import JobContext, JobKind, JobResult
from mlxp_lab.training.parameters import TrainParameters, prepare


def run(parameters: TrainParameters, context: JobContext) -> JobResult:
    """Fine-tune a model."""
    from mlxp_lab.training.work import Work  # noqa: PLC0415  # it loads MLX

    return Work(parameters, context).do()


KIND = JobKind(
    name="train",
    summary="Teach a model with rows of a dataset: make an adapter.",
    parameters=TrainParameters,
    prepare=prepare,
    run=run,
    title=lambda parameters: Path(parameters.output or parameters.model).name,
    resumable=True,
)
