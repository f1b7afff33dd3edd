"""Protocols are pure: neither a framework nor an event loop nor arrays are needed to load them."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

PLUGINS = sorted(point.module for point in entry_points(group="mlxp") if "mlxp_protocols" in point.value)
IMPURE = {"asyncio", "litestar", "mlx", "socket", "uvicorn"}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_loading_a_plugin_loads_nothing_impure(plugin):
    command = f"import sys, {plugin}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert plugin in loaded
    assert not loaded & IMPURE
