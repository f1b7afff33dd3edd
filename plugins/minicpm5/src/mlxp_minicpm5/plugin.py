"""MiniCPM5: the family and its formats. Imports no arrays, so that listing plugins stays quick."""

from mlxp_core import hookimpl
from mlxp_core.contracts import LanguageModel, ModelFamily, ThinkingFormat, ToolFormat
from mlxp_minicpm5 import config, division, thinking, tools, weights


def _build(read: config.MiniCPM5Config) -> LanguageModel:
    from mlxp_minicpm5.text import MiniCPM5  # arrays only where a network is built

    return MiniCPM5(read)


@hookimpl
def mlxp_model_families() -> list[ModelFamily]:
    """Return the family."""
    return [
        ModelFamily(
            name="minicpm5",
            model_types=("llama",),
            recognize=config.recognize,
            config=config.read,
            build=_build,
            rename=weights.rename,
            convert=weights.convert,
            need=config.need,
            divide=division.divide,
            tool_format=tools.FORMAT.name,
            thinking_format=thinking.FORMAT.name,
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
