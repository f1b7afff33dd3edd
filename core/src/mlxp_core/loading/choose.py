"""Which family claims a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from mlxp_core.contracts import FamilyConfig, FolderFacts, ModelFamily
from mlxp_core.errors import PluginError, UnsupportedModel
from mlxp_core.loading.folder import ModelFolder

T = TypeVar("T")


def choose_family(
    folder: ModelFolder, families: Mapping[str, ModelFamily]
) -> tuple[ModelFamily, FamilyConfig]:
    """Return the one family that claims a model, and the configuration as the family reads it.

    Raises:
        UnsupportedModel: when no family claims the model, or its family refuses the configuration.
        PluginError: when several families claim it.
    """
    facts = folder.facts()
    claims = [family for family in families.values() if _claims(family, folder.model_type, facts)]
    match claims:
        case [family]:
            return family, read_config(
                folder, f"family {family.name!r}", lambda: family.config(folder.config)
            )
        case []:
            raise UnsupportedModel(f"{folder.name}: {_why_not(folder.model_type, families)}")
        case _:
            names = " and ".join(repr(family.name) for family in claims)
            raise PluginError(
                f"{folder.name}: families {names} both claim it; switch one of them off with --disable"
            )


def _claims(family: ModelFamily, model_type: str, facts: FolderFacts) -> bool:
    return model_type in family.model_types and (family.recognize is None or family.recognize(facts))


def _why_not(model_type: str, families: Mapping[str, ModelFamily]) -> str:
    near = sorted(family.name for family in families.values() if model_type in family.model_types)
    if near:
        return f"model_type {model_type!r} is known to {', '.join(near)}, but this model is not one of theirs"
    known = sorted({kind for family in families.values() for kind in family.model_types})
    return f"no plugin claims model_type {model_type!r}; installed: {', '.join(known) or 'none'}"


def read_config(folder: ModelFolder, who: str, read: Callable[[], T]) -> T:
    """Return what a plugin reads from a model's configuration.

    Args:
        folder: the model.
        who: reads it, for messages.
        read: does it.

    Raises:
        UnsupportedModel: the plugin refuses the configuration or stumbles over it.
    """
    try:
        return read()
    except (
        msgspec.MsgspecError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise UnsupportedModel(
            f"{folder.name}/config.json: {who} cannot read it: {error or type(error).__name__}"
        ) from error
