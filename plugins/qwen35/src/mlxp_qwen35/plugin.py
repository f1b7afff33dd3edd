"""Qwen 3.5: the family and its formats. Imports no arrays, so that listing plugins stays quick."""

from mlxp_core import hookimpl
from mlxp_core.contracts import (
    DraftHead,
    DraftNetwork,
    LanguageModel,
    ModelFamily,
    ThinkingFormat,
    ToolFormat,
)
from mlxp_qwen35 import config, need, thinking, tools, weights


def _build(read: config.Qwen35Config) -> LanguageModel:
    from mlxp_qwen35.text import Qwen35  # arrays only where a network is built

    return Qwen35(read)


def _build_draft(read: config.Qwen35Config) -> DraftNetwork:
    from mlxp_qwen35.mtp import Predictor  # as above

    return Predictor(read)


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
            need=need.need,
            tool_format=tools.FORMAT.name,
            thinking_format=thinking.FORMAT.name,
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
                convert=weights.convert_draft,
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
