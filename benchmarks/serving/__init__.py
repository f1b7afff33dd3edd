"""mlxp and its peers side by side, on the same checkpoints, in one run: ``python -m benchmarks.serving -h``."""
