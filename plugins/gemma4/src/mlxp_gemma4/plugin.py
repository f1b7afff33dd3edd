"""Gemma 4: the family. Imports no arrays, so that listing plugins stays quick."""

from mlxp_core import hookimpl
from mlxp_core.contracts import LanguageModel, ModelFamily
from mlxp_gemma4 import config, keys, need, weights


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
            whole_images=config.whole_images,
            lora_targets=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
        )
    ]
