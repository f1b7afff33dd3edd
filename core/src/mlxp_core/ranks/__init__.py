"""One model computed by several processes, each of which holds a part of it; the first of them serves."""

from mlxp_core.ranks.launch import Launch, launched

__all__ = ["Launch", "launched"]
