"""Gemma 4: the family, its formats and its eyes. Imports no arrays, so that listing plugins stays quick."""

from collections.abc import Mapping
from typing import Any

from mlxp_core import hookimpl
from mlxp_core.contracts import (
    ImagePreparer,
    LanguageModel,
    ModelFamily,
    ThinkingFormat,
    ToolFormat,
    VisionNetwork,
    VisionTower,
)
from mlxp_gemma4 import config, division, keys, need, thinking, tools, weights
from mlxp_gemma4.eyes import config as eyes
from mlxp_gemma4.eyes import need as eye_need
from mlxp_gemma4.eyes import weights as eye_weights


def _build(read: config.Gemma4Config) -> LanguageModel:
    from mlxp_gemma4.text import Gemma4  # arrays only where a network is built

    return Gemma4(read)


def _build_eyes(read: eyes.TowerConfig | eyes.EmbedderConfig) -> VisionNetwork:
    from mlxp_gemma4.eyes.embedder import Embedder  # as above
    from mlxp_gemma4.eyes.tower import Tower

    match read:
        case eyes.TowerConfig():
            return Tower(read)
        case eyes.EmbedderConfig():
            return Embedder(read)


def _preparer(read: eyes.TowerConfig | eyes.EmbedderConfig, settings: Mapping[str, Any]) -> ImagePreparer:
    from mlxp_gemma4.eyes import images  # Pillow only where there are eyes

    return images.preparer(read.cut, settings)


@hookimpl
def mlxp_model_families() -> list[ModelFamily]:
    """Return the family."""
    return [
        ModelFamily(
            name="gemma4",
            model_types=keys.MODEL_TYPES,
            config=config.read,
            build=_build,
            rename=weights.rename,
            convert=weights.convert,
            mlx_name=weights.mlx_name,
            need=need.need,
            divide=division.divide,
            tool_format=tools.FORMAT.name,
            thinking_format=thinking.FORMAT.name,
            vision_tower="gemma4",
            whole_images=config.whole_images,
            lora_targets=(
                *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
                *("per_layer_input_gate", "per_layer_projection"),
            ),
        )
    ]


@hookimpl
def mlxp_tool_formats() -> list[ToolFormat]:
    """Return how it writes calls."""
    return [tools.FORMAT]


@hookimpl
def mlxp_thinking_formats() -> list[ThinkingFormat]:
    """Return how it thinks."""
    return [thinking.FORMAT]


@hookimpl
def mlxp_vision_towers() -> list[VisionTower]:
    """Return how it sees."""
    return [
        VisionTower(
            name="gemma4",
            config=eyes.read,
            preparer=_preparer,
            need=eye_need.need,
            build=_build_eyes,
            rename=eye_weights.rename,
            files=(eye_weights.SIDECAR,),
        )
    ]
