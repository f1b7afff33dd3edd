import sys
from importlib import import_module
from types import ModuleType

import pytest

from mlxp_core.errors import PluginError
from mlxp_core.testing.plugin import PluginSuite

GOOD = """
from __future__ import annotations
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlxp_core import hookimpl
from mlxp_core.contracts import Settings, ThinkingFormat
from mlxp_core.types import RequestRecord

if TYPE_CHECKING:
    import click
    from mlxp_core.contracts import ModelFamily

@hookimpl
def mlxp_thinking_formats() -> list[ThinkingFormat]:
    return [ThinkingFormat(name="x", open="<", close=">")]

@hookimpl
def mlxp_model_families(settings: Settings) -> Sequence[ModelFamily]:
    return []

@hookimpl
def mlxp_commands() -> tuple[click.Group, ...]:
    return ()

@hookimpl
def mlxp_resolve_model(ref: str) -> Path | None:
    return None

@hookimpl
def mlxp_request_finished(record: RequestRecord) -> None:
    pass
"""


@pytest.fixture
def module(site):
    """Install a plugin of a given source and import it."""

    def install(source, **more):
        site.add("mlxp-suited", {"suited": source}, **more)
        return import_module("mlxp_suited_suited")

    return install


SUITE = PluginSuite()
LAWS = {
    "entry point": SUITE.test_it_has_an_entry_point,
    "bounds": SUITE.test_its_distribution_requires_a_bounded_core,
    "loads": lambda plugin: SUITE.test_it_loads_and_its_hooks_answer(plugin, {}, ()),
    "annotations": SUITE.test_its_annotations_fit_the_hooks,
    "rooms": SUITE.test_it_imports_only_public_rooms,
    "light": SUITE.test_importing_it_loads_neither_arrays_nor_a_server,
}


@pytest.mark.parametrize("law", LAWS)
def test_a_good_plugin_keeps_every_law(module, law):
    LAWS[law](module(GOOD))


HOOK = "from mlxp_core import hookimpl\n"
OFFENCES = {
    "loads": [
        "",
        HOOK + "@hookimpl\ndef mlxp_nix(): pass",
        HOOK + "@hookimpl\ndef mlxp_protocols(): return [1]",
    ],
    "annotations": [
        GOOD.replace("list[ThinkingFormat]", "list[Settings]"),
        GOOD.replace("list[ThinkingFormat]", "set[ThinkingFormat]"),
        GOOD.replace("ref: str", "ref: int"),
        GOOD.replace("Path | None", "str | None"),
        GOOD.replace("-> None", "-> bool"),
    ],
    "rooms": [
        "import mlxp_core.plugins.loader",
        "from mlxp_core.plugins import load_plugins",
        "from mlxp_core import hookimpl, plugins",
        "def late():\n    from mlxp_core.server.app import build_app",
    ],
    "light": ["import PIL.Image", "import litestar", "import mlx.core", "raise ImportError"],
}


@pytest.mark.parametrize(
    ("law", "source"), [(law, source) for law, sources in OFFENCES.items() for source in sources]
)
def test_an_offence_is_found_by_its_law(site, law, source):
    site.add("mlxp-suited", {"suited": source})
    plugin = ModuleType("mlxp_suited_suited") if law == "light" else import_module("mlxp_suited_suited")
    with pytest.raises((AssertionError, PluginError)):
        LAWS[law](plugin)


def test_missing_bounds_are_an_offence(module):
    with pytest.raises(AssertionError):
        LAWS["bounds"](module(GOOD, requires=("mlxp-core>=0.1",)))


def test_a_module_that_no_distribution_announces_is_an_offence():
    with pytest.raises(AssertionError, match=r"project\.entry-points\.mlxp"):
        LAWS["entry point"](sys)


def test_every_file_of_a_package_is_searched(site):
    package = site.folder / "mlxp_packed"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "plugin.py").write_text(GOOD)
    (package / "net.py").write_text("from mlxp_core.engine import Engine")
    plugin = import_module("mlxp_packed.plugin")
    try:
        with pytest.raises(AssertionError, match=r"net\.py imports mlxp_core\.engine"):
            LAWS["rooms"](plugin)
    finally:
        for name in ("mlxp_packed", "mlxp_packed.plugin"):
            sys.modules.pop(name)
