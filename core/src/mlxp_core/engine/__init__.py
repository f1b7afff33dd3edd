"""The one thread that owns the arrays, and what others hand to it. Importing this loads no mlx."""

from mlxp_core.engine.engine import Engine
from mlxp_core.engine.orders import LoadPlan, Mount, Order, Pool, Shelve, Survey, Unmount
from mlxp_core.engine.residents import ShelfRules

__all__ = ["Engine", "LoadPlan", "Mount", "Order", "Pool", "ShelfRules", "Shelve", "Survey", "Unmount"]
