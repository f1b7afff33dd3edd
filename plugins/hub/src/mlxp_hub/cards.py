"""The card of what is pushed, where its author has written none: where it comes from, and how it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mlxp_hub.parcel import Parcel
from mlxp_hub.refs import parse

_SPLITS = {"train": "train", "valid": "validation", "test": "test"}
"""Name of a file -> what the hub calls its rows."""

N = TypeVar("N", bound=Struct)
Data = Mapping[str, Any]


class _Packing(Struct, frozen=True):
    bits: int
    group_size: int


class _Config(Struct, frozen=True):
    """What is read of ``config.json``."""

    model_type: str = "unknown"
    quantization: _Packing | None = None


class _Report(Struct, frozen=True):
    """What is read of ``mlxp_quantization.json``."""

    base_model: str = ""
    method: str = ""
    bits_per_weight: float = 0.0


class _Lora(Struct, frozen=True):
    rank: int


class _Adapter(Struct, frozen=True):
    """What is read of ``adapter_config.json``, mlx-lm's or PEFT's."""

    model: str = ""
    base_model_name_or_path: str = ""
    lora_parameters: _Lora | None = None
    r: int | None = None


class _Summary(Struct, frozen=True):
    method: str
    steps: int
    rows: int


class _Training(Struct, frozen=True):
    """What is read of ``training.json``."""

    summary: _Summary | None = None


class _Origin(Struct, frozen=True):
    template: str = ""
    source: str = ""


class _Made(Struct, frozen=True):
    """What is read of ``dataset.json``."""

    origin: _Origin = _Origin()


def card_for(parcel: Parcel, repo: str) -> str:
    """Return the card, in Markdown with its data in front."""
    name = repo.rpartition("/")[2]
    match parcel.kind:
        case "model":
            data, text = _model(parcel, repo)
        case "adapter":
            data, text = _adapter(parcel, name)
        case "dataset":
            data, text = _dataset(parcel)
    front = "\n".join(_yaml(data))
    return f"---\n{front}\n---\n\n# {name}\n\n{text}\n"


def _model(parcel: Parcel, repo: str) -> tuple[Data, str]:
    config, report = _read(parcel, "config.json", _Config), _read(parcel, "mlxp_quantization.json", _Report)
    said = [f"A model of type `{config.model_type}` for MLX."]
    if config.quantization is not None:
        packing = config.quantization
        said.append(f"Its weights are packed: {packing.bits} bits in groups of {packing.group_size}.")
    if report.method:
        said.append(
            f"Made of {report.base_model}, {report.method}, with {report.bits_per_weight:.2f} bits a number, scales "
            "included; see `quantization.md` for what was lost."
        )
    data = {
        "library_name": "mlx",
        "pipeline_tag": "text-generation",
        **_base(report.base_model),
        "tags": ["mlx", "mlxp"],
    }
    return data, f"{' '.join(said)}\n\n```\nmlxp get {repo}\nmlxp serve {repo}\n```"


def _adapter(parcel: Parcel, name: str) -> tuple[Data, str]:
    config, training = (
        _read(parcel, "adapter_config.json", _Adapter),
        _read(parcel, "training.json", _Training),
    )
    base = config.base_model_name_or_path or config.model
    rank = config.r if config.lora_parameters is None else config.lora_parameters.rank
    of_rank = "" if rank is None else f" of rank {rank}"
    for_base = f" for {base if parse(base) is not None else Path(base).name}" if base else ""
    said = [f"A low-rank adapter (LoRA){of_rank}{for_base}."]
    if training.summary is not None:
        told = training.summary
        said.append(f"Learned in {told.steps} steps from {told.rows} rows ({told.method}).")
    data = {"library_name": "mlx", **_base(base), "tags": ["lora", "mlx", "mlxp"]}
    return data, f"{' '.join(said)}\n\nWith its folder here: `mlxp serve MODEL --adapter {name}=FOLDER`."


def _dataset(parcel: Parcel) -> tuple[Data, str]:
    counts = {
        split: _rows(parcel.folder / f"{split}.jsonl")
        for split in _SPLITS
        if f"{split}.jsonl" in parcel.files
    }
    origin = _read(parcel, "dataset.json", _Made).origin
    rows = ", ".join(f"{count} {split}" for split, count in counts.items())
    said = [f"Rows to fine-tune language models with: {rows}."]
    written = bool(origin.template and origin.source)
    if origin.template:
        by = f", written by the model {origin.source}" if written else ""
        said.append(
            f"Made by the template `{origin.template}`{by}, with near-duplicates dropped. Nothing in it was run."
        )
    files = [{"split": _SPLITS[split], "path": f"{split}.jsonl"} for split in counts]
    data = {
        "configs": [{"config_name": "default", "data_files": files}],
        "tags": ["mlxp", "synthetic"] if written else ["mlxp"],
    }
    return data, " ".join(said)


def _rows(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def _base(name: str) -> dict[str, str]:
    """Return what names the base, where it is one of the hub's."""
    return {"base_model": name} if parse(name) is not None else {}


def _read(parcel: Parcel, name: str, shape: type[N]) -> N:
    """Return what a note says; as if it said nothing where there is none, or one of another shape."""
    try:
        return msgspec.json.decode((parcel.folder / name).read_bytes(), type=shape)
    except (OSError, msgspec.MsgspecError):
        return shape()


def _yaml(data: Data) -> Iterator[str]:
    """Yield lines of YAML; values as JSON writes them, which YAML reads."""
    for name, value in data.items():
        yield f"{name}: {msgspec.json.encode(value).decode()}"
