"""The kind of job that measures how fast a model is."""

from __future__ import annotations

import platform
import statistics
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from mlxp_core.types import EngineSettings
from mlxp_lab.bench.speeds import Speed, Speeds
from mlxp_lab.jobs import JobContext, JobKind, JobResult, Site
from mlxp_lab.quantize.parameters import appraised

Count = Annotated[int, Meta(ge=1, le=10**6)]


class BenchParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measurement.

    Attributes:
        model: a folder, or a name that a plugin knows.
        prompt_tokens: to read.
        tokens: to write.
        runs: of which the median counts; one more warms up.
    """

    model: str
    prompt_tokens: Count = 512
    tokens: Count = 128
    runs: Annotated[int, Meta(ge=1, le=100)] = 3


def prepare(parameters: BenchParameters, site: Site) -> BenchParameters:
    """Find the model.

    Raises:
        BadParameters: there is no such model, or nobody claims it.
    """
    _, path = appraised(parameters.model, site)
    return msgspec.structs.replace(parameters, model=str(path))


def run(parameters: BenchParameters, context: JobContext) -> JobResult:
    """Measure, and keep what was measured."""
    import mlx.core as mx  # noqa: PLC0415  # only the process of the job computes

    from mlxp_core.workshop import open_model  # noqa: PLC0415  # as above
    from mlxp_lab.bench.measure import timed  # noqa: PLC0415  # as above

    told, path = appraised(parameters.model, context.site)
    model = open_model(path, context.site.models)
    network = model.network(progress=lambda done, total: context.progress(0.3 * done / total, "loading"))
    chunk = context.site.settings.section(EngineSettings).prefill_chunk
    vocabulary = network.used or network.vocabulary
    prompt = [7 + place % (vocabulary - 7) for place in range(parameters.prompt_tokens)]
    taken = []
    for number in range(parameters.runs + 1):
        context.breathe()
        context.progress(0.3 + 0.7 * number / (parameters.runs + 1), f"run {number} of {parameters.runs}")
        taken.append(timed(network.model, network.policy, prompt, tokens=parameters.tokens, chunk=chunk))
        if number:
            last = taken[-1]
            rates = (parameters.prompt_tokens / last.prefill_s, parameters.tokens / last.decode_s)
            context.metrics(number, prefill_tps=rates[0], decode_tps=rates[1])
    counted = taken[1:]
    speed = Speed(
        measured_at=round(time.time() * 1000),
        folder=str(path.resolve()),
        model=told.name,
        weight_bytes=told.weight_bytes,
        machine=str(mx.device_info().get("device_name") or platform.machine()),
        prompt_tokens=parameters.prompt_tokens,
        tokens=parameters.tokens,
        runs=parameters.runs,
        prefill_tps=parameters.prompt_tokens / statistics.median(each.prefill_s for each in counted),
        decode_tps=parameters.tokens / statistics.median(each.decode_s for each in counted),
        predicted_decode_tps=None if told.fit is None else told.fit.predicted_decode_tps,
        peak_bytes=mx.get_peak_memory(),
        versions=f"mlxp {version('mlxp-core')}, mlx {version('mlx')}",
    )
    speeds = Speeds(context.site.folder)
    speeds.add(speed)
    speeds.close()
    return JobResult(summary=msgspec.to_builtins(speed))


KIND = JobKind(
    name="bench",
    summary="Measure how fast a model reads and writes on this machine.",
    parameters=BenchParameters,
    prepare=prepare,
    run=run,
    title=lambda parameters: Path(parameters.model).name,
)
