"""Qwen 3.5: the family, its formats and its eyes. Imports no arrays, so that listing plugins stays quick."""

from collections.abc import Mapping
from typing import Any

from mlxp_core import hookimpl
from mlxp_core.contracts import (
    DraftHead,
    DraftNetwork,
    ImagePreparer,
    LanguageModel,
    ModelFamily,
    ThinkingFormat,
    ToolFormat,
    VisionNetwork,
    VisionTower,
)
from mlxp_qwen35 import config, division, need, thinking, tools, weights
from mlxp_qwen35.eyes import config as eyes
from mlxp_qwen35.eyes import need as eye_need
from mlxp_qwen35.eyes import weights as eye_weights


def _build(read: config.Qwen35Config) -> LanguageModel:
    from mlxp_qwen35.text import Qwen35  # arrays only where a network is built

    return Qwen35(read)


def _build_draft(read: config.Qwen35Config) -> DraftNetwork:
    from mlxp_qwen35.mtp import Predictor  # as above

    return Predictor(read)


def _build_eyes(read: eyes.TowerConfig) -> VisionNetwork:
    from mlxp_qwen35.eyes.tower import Tower  # as above

    return Tower(read)


def _preparer(read: eyes.TowerConfig, settings: Mapping[str, Any]) -> ImagePreparer:
    from mlxp_qwen35.eyes import images  # Pillow only where there are eyes

    return images.preparer(read, settings)


@hookimpl
def mlxp_model_families() -> list[ModelFamily]:
    """Return the family."""
    return [
        ModelFamily(
            name="qwen35",
            model_types=("qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text"),
            config=config.read,
            build=_build,
            rename=weights.rename,
            convert=weights.convert,
            mlx_name=weights.mlx_name,
            need=need.need,
            divide=division.divide,
            tool_format=tools.FORMAT.name,
            thinking_format=thinking.FORMAT.name,
            vision_tower="qwen35",
            lora_targets=(
                *("q_proj", "k_proj", "v_proj", "o_proj"),
                *("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"),
                *("gate_proj", "up_proj", "down_proj"),
            ),
            float32=weights.FLOAT32,
            draft_head=DraftHead(
                name="qwen35-mtp",
                build=_build_draft,
                rename=weights.rename_draft,
                need=need.draft_need,
                convert=weights.convert_draft,
                mlx_name=weights.mlx_name_of_draft,
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
            name="qwen35",
            config=eyes.read,
            preparer=_preparer,
            need=eye_need.need,
            build=_build_eyes,
            rename=eye_weights.rename,
            convert=eye_weights.convert,
            files=(eye_weights.SIDECAR,),
        )
    ]
