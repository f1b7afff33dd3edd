"""``python -m mlxp_core`` is ``mlxp``."""

from mlxp_core.cli.main import run

run()
