"""A model outside of the engine, for work that takes it apart: on one thread, in a process of its own.

``open_model`` reads a folder, ``OpenModel.network`` its weights. Importing this loads no mlx; ``.parts`` and ``.terms``
do.
"""

from mlxp_core.adapters import AdapterFolder, holds_adapter, open_adapter
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.frontend import Frontend
from mlxp_core.loading.shards import StoredTensor, read_header
from mlxp_core.prompting import Lesson
from mlxp_core.workshop.model import OpenModel, open_model

__all__ = [
    "AdapterFolder",
    "Frontend",
    "Lesson",
    "ModelFolder",
    "OpenModel",
    "StoredTensor",
    "holds_adapter",
    "open_adapter",
    "open_model",
    "read_header",
]
