"""What the job does: add what adapters add to the weights, and write the model anew.

A module with the weight ``W``, ``[outputs, inputs]``, gets ``W + sum of weight (A B)^T``, computed in float32. Packed
ones are unpacked, changed, and packed again as they were. Everything else is written bit by bit as it is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import mlx.core as mx

from mlxp_core.workshop import OpenModel, open_adapter, open_model
from mlxp_core.workshop.parts import Part, draft_part, network_part
from mlxp_core.workshop.terms import fitted_terms
from mlxp_lab.fusing.parameters import FuseParameters
from mlxp_lab.jobs import JobContext, JobResult
from mlxp_lab.quantize.choice import Choice
from mlxp_lab.quantize.modules import modules_of
from mlxp_lab.quantize.plan import Plan
from mlxp_lab.quantize.writer import as_stored, dtype_of, write_parts

_DTYPES = {"float32": mx.float32, "bfloat16": mx.bfloat16, "float16": mx.float16}


def fuse(parameters: FuseParameters, context: JobContext) -> JobResult:
    """Fuse adapters into a model."""
    model = open_model(Path(parameters.model), context.site.models)
    part, draft = network_part(model), draft_part(model)
    plan = dict(as_stored(part, modules_of(part.module)))
    changes = _changes(parameters, model, part)
    for path, change in changes.items():
        _change(part, path, change, parameters, model)
        if parameters.unpack:
            plan[path] = None
    plans: list[tuple[Part, Plan]] = [(part, plan)]
    if draft is not None:
        plans.append((draft, as_stored(draft, modules_of(draft.module))))

    def step(done: int, total: int) -> None:
        context.breathe()
        context.progress(done / total, f"tensor {done} of {total}", stage="writing")

    place = Path(parameters.output or "")
    with context.making(place, replace=parameters.replace) as fresh:
        size = write_parts(
            model,
            plans,
            fresh,
            default=_default([plan for _, plan in plans]),
            shard_bytes=parameters.shard_bytes,
            step=step,
            dtype=None,
        )
    summary = {
        "model": model.name,
        "adapters": [Path(adapter).name for adapter in parameters.adapters],
        "weights": list(parameters.weights or ()),
        "modules": len(changes),
        "size_bytes": size,
    }
    return JobResult(output=place, summary=summary)


def _changes(parameters: FuseParameters, model: OpenModel, part: Part) -> Mapping[str, mx.array]:
    """Return what adapters add, ``[outputs, inputs]``, not computed yet, by the path of the module."""
    changes: dict[str, mx.array] = {}
    for adapter, weight in zip(parameters.adapters, parameters.weights or (), strict=True):
        terms = fitted_terms(open_adapter(Path(adapter)), model, part.module)
        for path, term in terms.items():
            added = weight * (term.a @ term.b).T
            changes[path] = added if path not in changes else changes[path] + added
    return changes


def _change(part: Part, path: str, change: mx.array, parameters: FuseParameters, model: OpenModel) -> None:
    """Change a module's weight, in the type in which it will be written or packed."""
    name, packed = f"{path}.weight", part.packed.pop(path, None)
    before = part.arrays[name]
    after = before.astype(mx.float32) + change
    if packed is None:
        usual = before.dtype
    elif parameters.unpack:
        usual = dtype_of(model)
    else:  # as the scales; of modes whose scales are no numbers, as what is not packed
        usual = packed[1].dtype if mx.issubdtype(packed[1].dtype, mx.floating) else dtype_of(model)
        part.arrays[name] = after.astype(usual)
        return
    part.arrays[name] = after.astype(_DTYPES.get(parameters.dtype, usual))


def _default(plans: list[Plan]) -> Choice | None:
    """Return how most modules are packed; ``None`` where none is."""
    counted = Counter(choice for plan in plans for choice in plan.values() if choice is not None)
    return counted.most_common(1)[0][0] if counted else None
