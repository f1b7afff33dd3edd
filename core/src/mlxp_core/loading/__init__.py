"""A model folder becomes two halves: one without arrays, and one with them (``mlxp_core.loading.network``)."""

from mlxp_core.loading.choose import choose_family
from mlxp_core.loading.folder import ModelFolder, open_folder

__all__ = ["ModelFolder", "choose_family", "open_folder"]
