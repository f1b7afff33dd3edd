"""Low-rank adapters (LoRA): their files, and the terms they add to a network. Importing this loads no mlx."""

from mlxp_core.adapters.base import same_base
from mlxp_core.adapters.folder import AdapterFolder, Fitted, Term, holds_adapter, open_adapter
from mlxp_core.adapters.recipe import Recipe, read_recipe

__all__ = [
    "AdapterFolder",
    "Fitted",
    "Recipe",
    "Term",
    "holds_adapter",
    "open_adapter",
    "read_recipe",
    "same_base",
]
