"""Whether a model sees, by its files: which tower it has, and what the tower makes of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, ImagePreparer, ModelFamily, VisionConfig, VisionTower
from mlxp_core.errors import PluginError, UnsupportedModel
from mlxp_core.loading.choose import read_config
from mlxp_core.loading.files import read_optional
from mlxp_core.loading.folder import ModelFolder


class Eyes(Struct, frozen=True, eq=False):
    """A model's tower.

    Attributes:
        tower: its kind.
        config: config.json, as the tower read it.
        settings: of images, as ``VisionTower`` describes them.
        preparer: the half without arrays.
        whole_images: whether a pass must not cut an image.
    """

    tower: VisionTower
    config: VisionConfig
    settings: Mapping[str, Any]
    preparer: ImagePreparer
    whole_images: bool


def find_eyes(
    folder: ModelFolder, family: ModelFamily, config: FamilyConfig, towers: Mapping[str, VisionTower]
) -> Eyes | None:
    """Return a model's eyes; ``None`` = it is made without.

    Args:
        folder: the model.
        family: who claims it.
        config: as the family read it.
        towers: what plugins brought.

    Raises:
        UnsupportedModel: it should have eyes, but they cannot be used; says why.
        PluginError: the family names a tower that no plugin brings.
    """
    if family.vision_tower is None:
        return None
    tower = towers.get(family.vision_tower)
    if tower is None:
        raise PluginError(
            f"family {family.name!r} needs the vision tower {family.vision_tower!r}, which no plugin brings; "
            f"there are: {', '.join(sorted(towers)) or 'none'}"
        )
    who = f"vision tower {tower.name!r}"
    seen = read_config(folder, who, lambda: tower.config(folder.config))
    if seen is None:
        return None
    if not has_weights(folder, tower):
        beside = "".join(f", nor {name} beside them" for name in tower.files)
        raise UnsupportedModel(f"{folder.name}: its weight files hold no {who}{beside}")
    settings = image_settings(folder.path)
    return Eyes(
        tower=tower,
        config=seen,
        settings=settings,
        preparer=read_config(folder, who, lambda: tower.preparer(seen, settings)),
        whole_images=family.whole_images is not None and family.whole_images(config),
    )


def has_weights(folder: ModelFolder, tower: VisionTower) -> bool:
    """Say whether there are weights for the tower, by their names alone."""
    beside = any((folder.path / name).is_file() for name in tower.files)
    return beside or any(tower.rename(name) is not None for name in folder.tensors)


def image_settings(path: Path) -> dict[str, Any]:
    """Return the image settings of a model folder, as ``VisionTower`` describes them.

    Raises:
        ModelFolderError: a file is damaged.
    """
    whole = read_optional(path / "processor_config.json")
    own = whole.get("image_processor")
    return {**whole, **(own if isinstance(own, dict) else read_optional(path / "preprocessor_config.json"))}
