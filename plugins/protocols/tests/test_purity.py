"""Protocols are pure: neither a framework nor an event loop nor arrays are needed to load them."""

import subprocess
import sys

import pytest

IMPURE = {"asyncio", "litestar", "mlx", "socket", "uvicorn"}


@pytest.mark.parametrize("plugin", ["mlxp_protocols.openai_chat.plugin", "mlxp_protocols.native.plugin"])
def test_loading_a_plugin_loads_nothing_impure(plugin):
    command = f"import sys, {plugin}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert plugin in loaded
    assert not loaded & IMPURE
