"""What an operator asked of keys and values, and what the model's kv_config.json says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from mlxp_core.errors import ModelFolderError, SettingsError
from mlxp_core.loading.files import read_bytes, where
from mlxp_core.types import EngineSettings, KVScheme, KVStorage

FILE = "kv_config.json"
BITS = (2, 3, 4, 5, 6, 8)
GROUPS = (32, 64, 128)
UNIFORM_GROUP = 64


class _Entry(Struct, frozen=True):
    """One layer of the file; keys that we do not know are left alone."""

    layer_idx: Annotated[int, Meta(ge=0)]
    bits: int
    group_size: int = UNIFORM_GROUP


def kv_scheme(folder: Path, settings: EngineSettings) -> KVScheme:
    """Return what the settings mean for a model.

    Args:
        folder: the model's; under ``config``, its kv_config.json is read, and without one nothing is quantized.
        settings: of which ``kv_quant`` and ``kv_plain_ends`` count.

    Raises:
        ModelFolderError: the file is damaged, or asks for what MLX does not have.
        SettingsError: fewer than no layers are to be plain.
    """
    mode, ends = settings.kv_quant, settings.kv_plain_ends
    if ends < 0:
        raise SettingsError(f"kv_plain_ends is a number of layers, so 0 or more, not {ends}")
    match mode:
        case "off":
            return KVScheme()
        case "config":
            return KVScheme(mode=mode, layers=_listed(folder / FILE))
        case "4" | "8":
            return KVScheme(mode=mode, uniform=KVStorage(int(mode), UNIFORM_GROUP), ends=ends)


def _listed(path: Path) -> dict[int, KVStorage]:
    if not path.is_file():
        return {}
    try:
        entries = msgspec.json.decode(read_bytes(path), type=list[_Entry])
    except msgspec.DecodeError as error:
        raise ModelFolderError(
            f"{where(path)} must list layers, each with layer_idx, bits and group_size: {error}"
        ) from error
    layers: dict[int, KVStorage] = {}
    for entry in entries:
        if entry.layer_idx in layers:
            raise ModelFolderError(f"{where(path)} lists layer {entry.layer_idx} twice")
        _check(path, f"bits of layer {entry.layer_idx}", entry.bits, BITS)
        _check(path, f"group_size of layer {entry.layer_idx}", entry.group_size, GROUPS)
        layers[entry.layer_idx] = KVStorage(entry.bits, entry.group_size)
    return layers


def _check(path: Path, what: str, value: int, allowed: tuple[int, ...]) -> None:
    if value not in allowed:
        raise ModelFolderError(
            f"{where(path)}: {what} is {value}; MLX has {', '.join(str(one) for one in allowed)}"
        )
