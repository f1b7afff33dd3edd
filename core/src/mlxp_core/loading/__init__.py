"""A model folder becomes two halves: one without arrays, and one with them (``mlxp_core.loading.network``)."""

from mlxp_core.loading.appraise import Place, appraise
from mlxp_core.loading.choose import choose_family
from mlxp_core.loading.eyes import Eyes
from mlxp_core.loading.folder import ModelFolder, open_folder
from mlxp_core.loading.frontend import Frontend, load_frontend

__all__ = [
    "Eyes",
    "Frontend",
    "ModelFolder",
    "Place",
    "appraise",
    "choose_family",
    "load_frontend",
    "open_folder",
]
