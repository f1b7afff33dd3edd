"""mlxp: a plugin-based server for large language models on MLX."""

import pluggy

__version__ = "0.1.0"

hookimpl = pluggy.HookimplMarker("mlxp")
"""Mark a function of a plugin module as an implementation of one of our hooks."""

__all__ = ["__version__", "hookimpl"]
