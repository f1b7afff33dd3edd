"""What the job does: lay terms side by side, ``A = [A1 A2 ..]`` and ``B`` from top to bottom, which adds them up.

The files of both forms have one rank and one scale for all modules. So a module that one of the adapters does without
gets zeros for it, and the scale of what is written is 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import mlx.core as mx
import msgspec
from msgspec import Raw

from mlxp_core.workshop import AdapterFolder, open_adapter
from mlxp_core.workshop.terms import Factors, stored_terms
from mlxp_lab.adapting.mlx_form import write_adapter
from mlxp_lab.adapting.names import bare, spelled
from mlxp_lab.adapting.peft_form import write_peft
from mlxp_lab.jobs import JobContext, JobFailed, JobResult
from mlxp_lab.merging.parameters import MergeParameters

Terms = Mapping[str, Factors]
"""Terms by the names of modules, whatever is put before them."""


def merge(parameters: MergeParameters, context: JobContext) -> JobResult:
    """Merge adapters."""
    folders = [open_adapter(Path(adapter)) for adapter in parameters.adapters]
    base = _base_of(folders)
    weights = parameters.weights or ()
    merged = summed([_terms(folder) for folder in folders], weights)
    rank = next(iter(merged.values())).a.shape[1]
    wrapped = _wrapped(parameters, folders)
    place = Path(parameters.output)
    context.progress(0.5, "writing the adapter", stage="writing")
    with context.making(place, replace=parameters.replace) as fresh:
        write = write_peft if parameters.format == "peft" else write_adapter
        named = {spelled(name, parameters.format, wrapped=wrapped): term for name, term in merged.items()}
        size = write(fresh, named, rank=rank, base_model=base)
    summary = {
        "adapters": [folder.path.name for folder in folders],
        "weights": list(weights),
        "rank": rank,
        "modules": len(merged),
        "base_model": base,
        "format": parameters.format,
        "size_bytes": size,
    }
    return JobResult(output=place, summary=summary)


def summed(adapters: Sequence[Terms], weights: Sequence[float]) -> dict[str, Factors]:
    """Return one term for each module that adds what all adapters add, each as much as it counts.

    Raises:
        JobFailed: they are for modules of different shapes.
    """
    ranks = [max(term.a.shape[1] for term in terms.values()) for terms in adapters]
    merged: dict[str, Factors] = {}
    for name in sorted({name for terms in adapters for name in terms}):
        shapes = {(terms[name].a.shape[0], terms[name].b.shape[1]) for terms in adapters if name in terms}
        if len(shapes) > 1:
            told = " and ".join(f"{inputs} to {outputs}" for inputs, outputs in sorted(shapes))
            raise JobFailed(f"{name} goes from {told} numbers; the adapters are for different models")
        inputs, outputs = next(iter(shapes))
        parts = [
            _widened(terms.get(name), rank, inputs, outputs, weight)
            for terms, rank, weight in zip(adapters, ranks, weights, strict=True)
        ]
        merged[name] = Factors(
            mx.concatenate([part.a for part in parts], axis=1), mx.concatenate([part.b for part in parts])
        )
    return merged


def _widened(term: Factors | None, rank: int, inputs: int, outputs: int, weight: float) -> Factors:
    """Return a term of this rank that adds ``weight`` times as much; zeros in place of none."""
    if term is None:
        return Factors(mx.zeros((inputs, rank)), mx.zeros((rank, outputs)))
    missing = rank - term.a.shape[1]
    return Factors(mx.pad(term.a, [(0, 0), (0, missing)]), mx.pad(weight * term.b, [(0, missing), (0, 0)]))


def _terms(folder: AdapterFolder) -> Terms:
    terms = stored_terms(folder)
    if not terms:
        raise JobFailed(f"{folder.path.name} adds nothing: its scale is 0")
    return {bare(name): term for name, term in terms.items()}


def _wrapped(parameters: MergeParameters, folders: Sequence[AdapterFolder]) -> bool:
    """Say whether the text network is a part of a whole model, as the files are to name it."""
    if parameters.model is None or parameters.format == "mlx":
        return any(bare(term.module) != term.module for folder in folders for term in folder.terms)
    config = msgspec.json.decode((Path(parameters.model) / "config.json").read_bytes(), type=dict[str, Raw])
    return "text_config" in config


def _base_of(folders: Sequence[AdapterFolder]) -> str | None:
    """Return what the adapters were learned on."""
    known = {folder.base_model for folder in folders if folder.base_model is not None}
    if len(known) > 1:
        raise JobFailed(f"the adapters were learned on different models: {', '.join(sorted(known))}")
    return next(iter(known), None)
