"""How a quantized module is packed: told from the shapes of its parts; the configuration only names the mode.

MLX stores a quantized matrix ``[..., out, in]`` as ``weight``, uint32 ``[..., out, in * bits / 32]``, ``scales``
``[..., out, in / group]``, and in affine mode ``biases`` of the same shape. A module is quantized if, and only if, it
has ``scales``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from mlxp_core.contracts import RawConfig
from mlxp_core.errors import ModelFolderError

_WORD_BITS = 32
_BITS = (2, 3, 4, 5, 6, 8)
_OTHER_MODES = {(4, 32): "mxfp4", (8, 32): "mxfp8", (4, 16): "nvfp4"}
"""(bits, group) -> mode, where there are no ``biases``."""


class Packing(Struct, frozen=True):
    """Bits of a number, numbers that share a scale, and the arithmetic, as ``mlx.core.quantize`` names it."""

    bits: int
    group_size: int
    mode: str


class Parts(Struct, frozen=True):
    """The shapes of a quantized module's parts."""

    weight: tuple[int, ...]
    scales: tuple[int, ...]
    biases: tuple[int, ...] | None


class NamedModes:
    """The modes that config.json names: one for all modules, and others by module path."""

    def __init__(self, config: RawConfig) -> None:
        """Read ``quantization``, or its copy ``quantization_config``."""
        sections = (config.get("quantization"), config.get("quantization_config"))
        section = next((entry for entry in sections if isinstance(entry, dict)), {})
        self._usual = _mode(section)
        self._special = {path: _mode(entry) for path, entry in section.items() if isinstance(entry, dict)}

    def of(self, *paths: str) -> str | None:
        """Return the mode of a module known under any of ``paths``; ``None`` where the file does not say."""
        special = (self._special.get(path) for path in paths)
        return next((mode for mode in special if mode is not None), self._usual)


def packing_of(path: str, inputs: int, parts: Parts, mode: str | None) -> Packing:
    """Return how a module is packed.

    Args:
        path: of the module, for messages.
        inputs: length of the unpacked matrix's last axis, as the network says.
        parts: what is stored.
        mode: what config.json says; a mode without ``biases`` is told from bits and group where it says nothing.

    Raises:
        ModelFolderError: when the shapes fit no packing.
    """
    bits, rest = divmod(parts.weight[-1] * _WORD_BITS, inputs)
    groups = parts.scales[-1] if parts.scales else 0
    if rest or bits not in _BITS or groups == 0 or inputs % groups:
        raise ModelFolderError(
            f"{path}: packed weight {list(parts.weight)} with scales {list(parts.scales)} "
            f"is no quantization of a matrix with {inputs} inputs"
        )
    group_size = inputs // groups
    if parts.biases is not None:
        return Packing(bits, group_size, "affine")
    told = mode if mode not in {None, "affine"} else _OTHER_MODES.get((bits, group_size))
    if told is None or (bits, group_size) not in {key for key, name in _OTHER_MODES.items() if name == told}:
        raise ModelFolderError(
            f"{path}: has scales without biases, {bits} bits and groups of {group_size}; "
            f"no quantization mode is like that ({', '.join(_OTHER_MODES.values())} are without biases)"
        )
    return Packing(bits, group_size, told)


def _mode(section: Mapping[str, Any]) -> str | None:
    mode = section.get("mode")
    return mode if isinstance(mode, str) else None
