"""What this plugin brings."""

from msgspec import Struct, ValidationError, convert

from mlxp_core import hookimpl
from mlxp_core.contracts import LanguageModel, ModelFamily, RawConfig
from mlxp_core.errors import UnsupportedModel
from mlxp_core.types import Need


class ParrotConfig(Struct, frozen=True):
    """The part of config.json that matters."""

    vocab_size: int
    hidden_size: int


def _read(raw: RawConfig) -> ParrotConfig:
    try:
        return convert(raw, ParrotConfig)
    except ValidationError as error:
        raise UnsupportedModel(f"parrot: config.json: {error}") from error


def _build(config: ParrotConfig) -> LanguageModel:
    from mlxp_parrot.net import Parrot

    return Parrot(config.vocab_size, config.hidden_size)


def _need(config: ParrotConfig, value_bytes: int) -> Need:
    return Need(weights=2 * value_bytes * config.vocab_size * config.hidden_size)  # two tables


def _rename(name: str) -> str:
    return name


@hookimpl
def mlxp_model_families() -> list[ModelFamily]:
    """Return Parrot."""
    return [
        ModelFamily(
            name="parrot", model_types=("parrot",), config=_read, build=_build, rename=_rename, need=_need
        )
    ]
