"""The kind of job that quantizes."""

from __future__ import annotations

from pathlib import Path

from mlxp_lab.jobs import JobContext, JobKind, JobResult
from mlxp_lab.quantize.parameters import QuantizeParameters, prepare


def run(parameters: QuantizeParameters, context: JobContext) -> JobResult:
    """Quantize a model."""
    from mlxp_lab.quantize.work import Work  # noqa: PLC0415  # it loads MLX

    return Work(parameters, context).do()


KIND = JobKind(
    name="quantize",
    summary="Pack a model's weights into fewer bits.",
    parameters=QuantizeParameters,
    prepare=prepare,
    run=run,
    title=lambda parameters: Path(parameters.output or parameters.model).name,
    resumable=True,
)
