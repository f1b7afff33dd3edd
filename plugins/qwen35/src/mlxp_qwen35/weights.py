"""What Qwen 3.5 checkpoints call their tensors, and how they store them.

There are three spellings of a name: published multimodal (``model.language_model.X``), published text-only
(``model.X``) and MLX conversions (``language_model.model.X``). Ours is the text-only one, with MLX's names inside a
layer. Published files hold ``weight - 1`` of most norms, the convolution as ``[channels, 1, kernel]``, and experts in
one piece; conversions hold what the network computes with. The convolution's shape tells which of the two it is.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from mlxp_core.contracts import RawConfig
from mlxp_qwen35.config import Qwen35Config

if TYPE_CHECKING:
    import mlx.core as mx

_CONVOLUTION = "conv1d.weight"

_PREFIXES = {
    "model.language_model.": "model.",
    "language_model.model.": "model.",
    "language_model.lm_head.": "lm_head.",
}
_DRAFT_PREFIXES = ("mtp.", "language_model.mtp.")
_ELSEWHERE = (*_DRAFT_PREFIXES, "model.visual.", "visual.", "vision_tower.")
"""Tensors of the draft head and of the tower, which are networks of their own."""

_LESS_ONE = (
    "input_layernorm.weight",
    "post_attention_layernorm.weight",
    "self_attn.q_norm.weight",
    "self_attn.k_norm.weight",
    "model.norm.weight",
)
"""Norms whose published weight is less by one; ``linear_attn.norm`` is not among them."""

_DRAFT_LESS_ONE = ("norm.weight", "pre_fc_norm_embedding.weight", "pre_fc_norm_hidden.weight")
"""All norms of the draft head are published like that."""

FLOAT32 = ("linear_attn.A_log", "linear_attn.norm.weight")
"""Parameters that are float32 whatever the others are."""


def rename(name: str) -> str | None:
    """Return the parameter a tensor is for; ``None`` for those of other networks and for tables we compute."""
    if name.startswith(_ELSEWHERE) or name.endswith("rotary_emb.inv_freq"):
        return None
    for prefix, own in _PREFIXES.items():
        if name.startswith(prefix):
            return _in_layer(own + name.removeprefix(prefix))
    return _in_layer(name)


def convert(weights: MutableMapping[str, mx.array], config: Qwen35Config) -> None:
    """Turn what is stored into what the network computes with.

    A head that some files store although it is tied to the embedding table is dropped.
    """
    if config.tied:
        for name in [name for name in weights if name.startswith("lm_head.")]:
            del weights[name]
    if is_published(weights):
        for name in [name for name in weights if name.endswith(_CONVOLUTION)]:
            weights[name] = weights[name].swapaxes(1, 2)
        add_one(weights, _LESS_ONE)
    split_experts(weights)


def rename_draft(name: str) -> str | None:
    """Return the parameter of the draft head a tensor is for.

    The network's convolutions keep their name: they tell ``convert_draft`` how the file stores its norms.
    """
    if name.endswith(_CONVOLUTION):
        return name
    for prefix in _DRAFT_PREFIXES:
        if name.startswith(prefix):
            return _in_layer(name.removeprefix(prefix))
    return None


def convert_draft(weights: MutableMapping[str, mx.array], config: Qwen35Config) -> None:  # noqa: ARG001  # the contract
    """Turn what is stored into what the draft head computes with; leave nothing where there is none."""
    published = is_published(weights)
    for name in [name for name in weights if name.endswith(_CONVOLUTION)]:
        del weights[name]
    if published:
        add_one(weights, _DRAFT_LESS_ONE)
    split_experts(weights)


def is_published(weights: MutableMapping[str, mx.array]) -> bool:
    """Say whether tensors are stored as published, by the convolutions among them."""
    return any(name.endswith(_CONVOLUTION) and array.shape[-1] != 1 for name, array in weights.items())


def add_one(weights: MutableMapping[str, mx.array], endings: tuple[str, ...]) -> None:
    """Add one to the norms with these endings, in float32: in 16 bits the sum would lose digits of the weight."""
    import mlx.core as mx  # noqa: PLC0415  # listing plugins must not load it

    for name in [name for name in weights if name.endswith(endings)]:
        weights[name] = weights[name].astype(mx.float32) + 1


def split_experts(weights: MutableMapping[str, mx.array]) -> None:
    """Take gate and up projections of experts apart where they come in one piece, ``[experts, 2 inner, hidden]``."""
    joint = ".gate_up_proj.weight"
    for name in [name for name in weights if name.endswith(joint)]:
        both = weights.pop(name)
        path, inner = name.removesuffix(joint), both.shape[1] // 2
        weights[f"{path}.gate_proj.weight"] = both[:, :inner]
        weights[f"{path}.up_proj.weight"] = both[:, inner:]


def mlx_name(name: str, config: RawConfig) -> str:  # noqa: ARG001  # all of them alike
    """Return what MLX conversions call the tensor of a parameter."""
    return f"language_model.{name}"


def mlx_name_of_draft(name: str) -> str:
    """Return what the tensor of a parameter of the draft head is called beside those of an MLX conversion."""
    return f"language_model.mtp.{name}"


def _in_layer(name: str) -> str:
    """Call the stacks of experts as MLX does; published files have them without ``.weight``."""
    path, experts, part = name.rpartition(".mlp.experts.")
    if not experts or "." in part:
        return name
    return f"{path}.mlp.switch_mlp.{part}.weight"
