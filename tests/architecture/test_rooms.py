"""The list of public rooms is one list, and what plugins and plugin modules import keeps to the map."""

import re
import subprocess
import sys

import pytest

from mlxp_core.testing.plugin import HEAVY, PUBLIC_ROOMS, private_imports


def test_the_kit_and_the_map_name_the_same_public_rooms(root):
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^Public to plugin authors: (.*?)\. The$", text, re.MULTILINE)
    assert {name.strip("` .") for name in listed.split(",")} == {"mlxp_core", *PUBLIC_ROOMS}


def test_every_public_room_exists(root):
    rooms = {path.parent.name for path in root.glob("core/src/mlxp_core/*/__init__.py")} | {"errors"}
    assert set(PUBLIC_ROOMS) <= rooms


def test_plugins_and_strangers_import_public_rooms_only(root):
    paths = (*root.glob("plugins/*/src/**/*.py"), *root.glob("tests/third_party/*/src/**/*.py"))
    assert [found for path in paths for found in private_imports(path)] == []


def _loaded_by(*modules):
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        f"print(*sorted({{name.partition('.')[0] for name in sys.modules}} & set({(*HEAVY, 'uvicorn', 'jinja2')!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code, *modules], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_any_plugin_loads_neither_arrays_nor_a_server(plugin_modules):
    assert plugin_modules
    assert _loaded_by(*plugin_modules) == []


@pytest.mark.parametrize("module", ["types", "contracts", "errors", "hookspecs", "plugins", "cli.main"])
def test_importing_a_light_room_loads_neither_arrays_nor_a_server(module):
    assert _loaded_by(f"mlxp_core.{module}") == []
