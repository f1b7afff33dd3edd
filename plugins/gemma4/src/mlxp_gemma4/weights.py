"""What Gemma 4 checkpoints call the tensors of the text network, and the few that must be split or dropped.

Three spellings are in use: ``model.language_model.*`` (original files), ``language_model.model.*`` (converted ones) and
``model.*`` (text networks alone). The network's own is the last. Original files keep the gates of all experts and
what they gate in one tensor, converted ones apart.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from mlxp_core.contracts import RawConfig
from mlxp_gemma4.config import Gemma4Config

if TYPE_CHECKING:
    import mlx.core as mx

_PREFIXES = ("model.language_model.", "language_model.model.", "language_model.", "model.")
_OTHER_SENSES = (
    "vision_tower.",
    "vision_embedder.",
    "multi_modal_projector.",
    "embed_vision.",
    "audio_tower.",
    "embed_audio.",
)
_DROPPED = re.compile(r"rotary_emb\.|\.(input|output)_(min|max)$")
_SHARED = re.compile(r"model\.layers\.(\d+)\.self_attn\.(?:k_proj|v_proj|k_norm)\.")
_FUSED = re.compile(r"(.*\.experts\.)gate_up_proj\.(weight|scales|biases)")


def rename(name: str) -> str | None:
    """Return the parameter a tensor is for; ``None`` for other senses, rotary periods and bounds of clipping."""
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
    rest = name.removeprefix(prefix)
    if rest.startswith(_OTHER_SENSES) or _DROPPED.search(rest):
        return None
    if rest.startswith("lm_head."):
        return rest
    rest = rest.replace(".experts.switch_glu.", ".experts.")
    if rest.endswith((".experts.gate_up_proj", ".experts.down_proj")):
        rest += ".weight"
    return f"model.{rest}"


def convert(weights: MutableMapping[str, mx.array], config: Gemma4Config) -> None:
    """Drop what layers that share keys and values, and tied heads, do not use; part the experts' gates."""
    for name in list(weights):
        shared, fused = _SHARED.match(name), _FUSED.fullmatch(name)
        if (shared and int(shared[1]) >= len(config.own_layers)) or (
            config.tied and name.startswith("lm_head.")
        ):
            del weights[name]
        elif fused:
            both = weights.pop(name)  # [experts, 2 * inner, ...], gates first
            half = both.shape[1] // 2
            weights[f"{fused[1]}gate_proj.{fused[2]}"] = both[:, :half]
            weights[f"{fused[1]}up_proj.{fused[2]}"] = both[:, half:]


def mlx_name(name: str, config: RawConfig) -> str:
    """Return what MLX conversions call the tensor of a parameter: of a whole model, or of a text network alone."""
    prefix = "language_model." if "text_config" in config else ""
    return prefix + name.replace(".experts.", ".experts.switch_glu.")
