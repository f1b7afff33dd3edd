"""Gemma 4: the family and its formats. Imports no arrays, so that listing plugins stays quick."""

from mlxp_core import hookimpl
from mlxp_core.contracts import LanguageModel, ModelFamily, ThinkingFormat, ToolFormat
from mlxp_gemma4 import config, keys, need, thinking, tools, weights


def _build(read: config.Gemma4Config) -> LanguageModel:
    from mlxp_gemma4.text import Gemma4  # arrays only where a network is built

    return Gemma4(read)


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
            need=need.need,
            tool_format=tools.FORMAT.name,
            thinking_format=thinking.FORMAT.name,
            whole_images=config.whole_images,
            lora_targets=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
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
