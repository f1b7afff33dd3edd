"""What lies beside the weights: the configuration, which says how modules are packed, and the files that are copied."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mlxp_core.workshop import OpenModel
from mlxp_lab.quantize.choice import Choice
from mlxp_lab.quantize.files import PAGE, REPORT

_NOT_COPIED = {
    "config.json",
    "model.safetensors.index.json",
    "mlxp_job.json",
    REPORT,
    PAGE,
    "optiq_metadata.json",
}
_COPIED = {".json", ".jinja", ".txt", ".model", ".md"}
_SIDECARS = ("optiq_vision.safetensors",)
_FOLDERS = ("additional_chat_templates",)


def write_config(
    model: OpenModel,
    folder: Path,
    choices: Mapping[str, Choice | None],
    default: Choice | None,
    *,
    kept: Collection[str],
) -> None:
    """Write config.json, with ``quantization`` and its copy ``quantization_config``.

    Every packed module is listed; ``false`` = could be packed and is not.

    Args:
        model: whose configuration it is.
        folder: where it goes.
        choices: module, as the new files call it -> how it is packed.
        default: of the whole; ``None`` = nothing is packed.
        kept: names of tensors that were copied; what the model's own configuration says of them holds on.
    """
    config: dict[str, Any] = copy.deepcopy(dict(model.folder.config))
    of_kept = _of_kept(config, kept)
    for each in (config, *config.values()):
        if isinstance(each, dict):
            each.pop("quantization_config", None)
    config.pop("quantization", None)
    if default is not None:
        section: dict[str, Any] = {**of_kept, **_entry(default)}
        for path, choice in sorted(choices.items()):
            section[path] = False if choice is None else _entry(choice)
        config["quantization"] = config["quantization_config"] = section
    write_json(folder / "config.json", config)


def copy_beside(source: Path, target: Path) -> None:
    """Copy tokenizer, templates, settings and sidecars of a model folder."""
    for path in sorted(source.iterdir()):
        wanted = path.suffix in _COPIED or path.name in _SIDECARS or path.name.upper().startswith("LICENSE")
        if path.is_file() and wanted and path.name not in _NOT_COPIED:
            shutil.copyfile(path, target / path.name)
        elif path.is_dir() and path.name in _FOLDERS:
            shutil.copytree(path, target / path.name)


def write_json(path: Path, value: object) -> None:
    """Write JSON, for people too."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _entry(choice: Choice) -> dict[str, Any]:
    return {"group_size": choice.group_size, "bits": choice.bits, "mode": choice.mode}


def _of_kept(config: Mapping[str, Any], kept: Collection[str]) -> dict[str, Any]:
    section = config.get("quantization") or config.get("quantization_config") or {}
    return {
        path: entry
        for path, entry in section.items()
        if f"{path}.weight" in kept and isinstance(entry, dict | bool)
    }
