"""Gemma 3, text only. Imports no arrays, so that listing plugins stays quick."""

from mlxp_core import hookimpl
from mlxp_core.contracts import LanguageModel, ModelFamily
from mlxp_gemma3 import config


def _build(read: config.Gemma3Config) -> LanguageModel:
    from mlxp_gemma3.net import Gemma3

    return Gemma3(read)


def _rename(name: str) -> str | None:
    return None if name.endswith("rotary_emb.inv_freq") else name


@hookimpl
def mlxp_model_families() -> list[ModelFamily]:
    """Return the family."""
    return [
        ModelFamily(
            name="gemma3",
            model_types=("gemma3_text",),
            config=config.read,
            build=_build,
            rename=_rename,
            need=config.need,
            lora_targets=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
        )
    ]
