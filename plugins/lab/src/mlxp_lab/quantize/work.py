"""What the job does: look, measure, allocate, write, and hold what came of it against the model as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import mlx.core as mx
import msgspec
from mlx import nn
from msgspec import Struct

from mlxp_core.workshop import OpenModel, open_model
from mlxp_core.workshop.parts import network_part
from mlxp_lab.jobs import JobContext, JobFailed, JobResult
from mlxp_lab.quantize import texts
from mlxp_lab.quantize.choice import Choice
from mlxp_lab.quantize.folder import write_json
from mlxp_lab.quantize.keys import FILE as KV_FILE
from mlxp_lab.quantize.keys import kv_config
from mlxp_lab.quantize.measure import Quality, Yardstick
from mlxp_lab.quantize.mix import Mix, Stage, mixed
from mlxp_lab.quantize.modules import modules_of
from mlxp_lab.quantize.parameters import QuantizeParameters
from mlxp_lab.quantize.plan import Module, Plan, bits_per_weight, plan_bytes, uniform
from mlxp_lab.quantize.report import Line, Report, labels, nearest, write_report
from mlxp_lab.quantize.sensitivity import Record, Rehearsal
from mlxp_lab.quantize.writer import as_stored, write_model

_EIGHT = Choice(8, 64)


class Span(Struct, frozen=True):
    """A part of the whole job, as shares of it."""

    begin: float
    end: float

    def at(self, done: int, total: int) -> float:
        """Return how far the whole job is when so much of this part is done."""
        return self.begin + (self.end - self.begin) * done / max(1, total)


REFERENCE, KEYS, SENSITIVITY = Span(0.0, 0.05), Span(0.05, 0.15), Span(0.15, 0.65)
WRITING, COMPARING = Span(0.65, 0.9), Span(0.9, 1.0)


class Work:
    """One quantization."""

    def __init__(self, parameters: QuantizeParameters, context: JobContext) -> None:
        """Prepare to do what the parameters say."""
        self._asked = parameters
        self._context = context
        self._model = self._open(Path(parameters.model))
        part = network_part(self._model)
        self._modules: list[Module] = modules_of(part.module)
        self._stored = as_stored(part, self._modules)
        self._held_out: Yardstick | None = None
        if not self._modules:
            raise JobFailed(f"{self._model.name} has no module that can be packed")

    def do(self) -> JobResult:
        """Do it."""
        asked, context = self._asked, self._context
        mix, kept = self._measured() if asked.measures else (None, None)
        plan = uniform(self._modules, asked.choice) if mix is None else mix.plan
        default = asked.choice if mix is None else min(each for each in plan.values() if each is not None)
        place = Path(asked.output or "")
        with context.making(place, replace=asked.replace) as fresh:
            size = write_model(
                self._model,
                plan,
                fresh,
                default=default,
                shard_bytes=asked.shard_bytes,
                step=self._step(WRITING, "writing", "tensor"),
            )
            if kept is not None:
                write_json(fresh / KV_FILE, kept)
            report = self._report(plan, mix, size, fresh)
            write_report(msgspec.structs.replace(report, kv_bits=_mean_bits(kept)), fresh)
        return JobResult(
            output=place,
            summary={
                "bits_per_weight": report.bits_per_weight,
                "size_bytes": size,
                "lines": [msgspec.to_builtins(line) for line in report.lines],
            },
        )

    # ── Measure ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _measured(self) -> tuple[Mix | None, list[dict[str, int]] | None]:
        """Return a plan by what hurts, and how keys and values are kept, as far as they are asked for."""
        asked = self._asked
        reference = self._reference()
        network = reference.network(packed=False)
        rows = self._rows(asked.calibration, texts.CALIBRATION)
        step = self._step(REFERENCE, "asking the reference", "row")
        count = iter(range(1, len(rows) + 1))
        yardstick = Yardstick(network.model, network.policy, rows, lambda: step(next(count), len(rows)))
        module = cast("nn.Module", network.model)
        kept = None
        if asked.kv_target is not None:
            dtype = network.model.embed(mx.zeros((1, 1), dtype=mx.int32)).dtype
            kv_step = self._step(KEYS, "measuring keys and values", "measurement")
            kept = kv_config(network.model, yardstick, dtype, asked.kv_target, kv_step)
        if asked.target_bpw is None:
            return None, kept
        stage = Stage(module, network.policy, Rehearsal(reference, module), yardstick)
        record = Record(self._record_path(rows))
        step = self._step(SENSITIVITY, "measuring what hurts", "measurement")
        mix = mixed(stage, self._modules, asked.candidates, asked.target_bpw, record, step)
        self._context.log(
            f"{mix.bits_per_weight:.3f} bits a number lose {mix.kl:.5f} nats on the calibration texts"
        )
        return mix, kept

    def _reference(self) -> OpenModel:
        """Return what to measure against: the model, or, to save memory, the model with 8 bits."""
        if self._asked.reference == "source":
            return self._model
        folder = self._context.folder / "reference"
        if not (folder / "config.json").is_file():  # written last, so it tells that all is there
            folder.mkdir(exist_ok=True)
            plan, quiet = (
                uniform(self._modules, _EIGHT),
                self._step(REFERENCE, "packing the reference", "tensor"),
            )
            write_model(
                self._model, plan, folder, default=_EIGHT, shard_bytes=self._asked.shard_bytes, step=quiet
            )
        return self._open(folder)

    def _record_path(self, rows: Sequence[Sequence[int]]) -> Path:
        """Return the file of sensitivities of this model, with these rows and this reference."""
        files = sorted({tensor.file for tensor in self._model.folder.tensors.values()})
        known = (
            [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files],
            self._asked.reference,
            rows,
        )
        name = hashlib.sha256(msgspec.json.encode(known)).hexdigest()[:24]
        return self._context.site.folder / "sensitivities" / f"{name}.json"

    # ── Compare ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _report(self, plan: Plan, mix: Mix | None, size: int, made: Path) -> Report:
        asked = self._asked
        lines = self._compared(plan, mix, size, made) if asked.report else []
        return Report(
            method="uniform" if mix is None else "mixed",
            base_model=self._model.name,
            bits_per_weight=round(bits_per_weight(self._modules, plan), 4),
            target_bpw=asked.target_bpw,
            size_bytes=size,
            texts={
                "calibration": asked.calibration or "the lab's own texts",
                "held_out": asked.held_out or "the lab's own held-out texts",
            },
            lines=lines,
            sensitivity={} if mix is None else mix.sensitivities,
            modules=labels(plan),
        )

    def _compared(self, plan: Plan, mix: Mix | None, size: int, made: Path) -> list[Line]:
        """Hold the model as it was, what was made, and uniform ones of about its size against each other."""
        rows = self._rows(self._asked.held_out, texts.HELD_OUT)
        source = self._model.network(packed=False)
        step = self._step(COMPARING, "comparing", "row")
        total, count = len(rows) * 4, iter(range(1, len(rows) * 8))

        def tick() -> None:
            step(min(next(count), total), total)

        yardstick = Yardstick(source.model, source.policy, rows, tick)
        whole = self._model.folder.weight_bytes
        before = bits_per_weight(self._modules, self._stored)
        lines = [_line("as it was", yardstick.own_quality(), before, whole)]
        if mix is not None:
            module, others = cast("nn.Module", source.model), size - plan_bytes(self._modules, plan)
            rehearsal = Rehearsal(self._model, module)
            for name, alike in self._alike(plan).items():
                rehearsal.play(alike)
                quality = yardstick.quality(source.model, source.policy, tick)
                bits = bits_per_weight(self._modules, alike)
                lines.append(_line(name, quality, bits, plan_bytes(self._modules, alike) + others))
            del rehearsal, module
        del source
        mx.clear_cache()
        packed = self._open(made).network()
        quality = yardstick.quality(packed.model, packed.policy, tick)
        name = "uniform" if mix is None else "mixed"
        return [*lines, _line(f"{name}, as written", quality, bits_per_weight(self._modules, plan), size)]

    def _alike(self, plan: Plan) -> dict[str, Plan]:
        """Return the uniform plans whose sizes are nearest to that of a plan, by name."""
        plans: dict[str, Plan] = {
            f"uniform, {choice.label}": uniform(self._modules, choice) for choice in self._asked.candidates
        }
        sizes = {name: plan_bytes(self._modules, each) for name, each in plans.items()}
        return {name: plans[name] for name in nearest(sizes, plan_bytes(self._modules, plan))}

    # ── What all of it needs ────────────────────────────────────────────────────────────────────────────────────

    def _open(self, path: Path) -> OpenModel:
        return open_model(path, self._context.site.models)

    def _rows(self, file: str | None, own: str) -> list[list[int]]:
        samples = texts.own_samples(own) if file is None else texts.samples_in(Path(file).expanduser())
        return texts.rows_of(
            samples, self._model.frontend, rows=self._asked.rows, tokens=self._asked.row_tokens
        )

    def _step(self, span: Span, what: str, each: str) -> Callable[[int, int], None]:
        """Return what tells how far a part of the job is, and gives way to answers."""

        def step(done: int, total: int) -> None:
            self._context.progress(span.at(done, total), f"{what}: {each} {done} of {total}", stage=what)
            self._context.breathe()

        return step


def _line(name: str, quality: Quality, bits: float, size: int) -> Line:
    return Line(
        name=name,
        bits_per_weight=round(bits, 4),
        size_bytes=size,
        perplexity=quality.perplexity,
        kl=quality.kl,
        agreement=quality.agreement,
    )


def _mean_bits(kept: list[dict[str, int]] | None) -> float | None:
    return sum(layer["bits"] for layer in kept) / len(kept) if kept else None
