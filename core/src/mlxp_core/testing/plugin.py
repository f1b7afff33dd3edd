"""The laws of a plugin: it loads, keeps to hooks and public rooms, stays light, says what core it is for."""

import ast
import importlib.util
import os
import subprocess
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import click
import pluggy
import pytest

import mlxp_core
from mlxp_core import contracts, hookspecs, types
from mlxp_core.plugins import Flags, build_registry, load_plugins, load_settings
from mlxp_core.plugins.discovery import Candidate, discover
from mlxp_core.plugins.hooks import CORE_HOOKS, marked, new_manager
from mlxp_core.plugins.requirement import fit
from mlxp_core.types import PluginSettings

PUBLIC_ROOMS = ("types", "contracts", "errors", "nn", "kv", "reading", "testing", "workshop")
"""Packages of ``mlxp_core`` that plugins may import; the others may change any day."""

HEAVY = ("mlx", "litestar", "PIL")
"""What importing a plugin must not load, so that listing plugins stays quick."""

Plugin = ModuleType | type
"""A module, or a class whose object keeps something between hooks."""

_NAMES: Mapping[str, object] = {
    **vars(types),
    **vars(contracts),
    "Path": Path,
    "Sequence": Sequence,
    "click": click,
    "pluggy": pluggy,
    "ControllerRouterHandler": object,  # Litestar judges what a route is
}


class PluginSuite:
    """Subclass it and override ``plugin``; the others only where their defaults do not fit."""

    @pytest.fixture
    def plugin(self) -> Plugin:
        """Return the plugin: the module or class that the entry point names."""
        raise NotImplementedError(
            "override the fixture `plugin`; return the module or class that your entry point names"
        )

    @pytest.fixture
    def flags(self) -> Flags:
        """Return settings without which the plugin cannot start, as section -> key -> value."""
        return {}

    @pytest.fixture
    def companions(self) -> Iterable[tuple[str, object]]:
        """Return plugins whose hooks it implements, as pairs of a name and a module."""
        return ()

    def test_it_has_an_entry_point(self, plugin: Plugin) -> None:
        """Its distribution announces it under the group ``mlxp``."""
        _candidate(plugin)

    def test_its_distribution_requires_a_bounded_core(self, plugin: Plugin) -> None:
        """So that a core it was not made for refuses it instead of failing in the middle."""
        result = fit(_candidate(plugin).requires or (), mlxp_core.__version__)
        assert (result.fault, result.warning) == (None, None)

    def test_it_loads_and_its_hooks_answer(
        self, plugin: Plugin, flags: Flags, companions: Iterable[tuple[str, object]]
    ) -> None:
        """Every hook is known, takes arguments that exist, and returns what it promises."""
        name = _candidate(plugin).name
        loaded = load_plugins(PluginSettings(), extra=[*companions, (name, plugin)], path=())
        registry = build_registry(loaded, load_settings(None, {}, flags, loaded.sections))
        report = next(report for report in registry.reports() if report.name == name)
        assert report.warnings == ()
        assert report.brings

    def test_its_annotations_fit_the_hooks(self, plugin: Plugin) -> None:
        """Where an implementation is annotated, it says what the hook says."""
        assert list(_contradictions(plugin)) == []

    def test_it_imports_only_public_rooms(self, plugin: Plugin) -> None:
        """Nothing of ``mlxp_core`` that may change any day."""
        assert [each for path in _sources(plugin) for each in private_imports(path)] == []

    def test_importing_it_loads_neither_arrays_nor_a_server(self, plugin: Plugin) -> None:
        """Tried in a process of its own."""
        code = (
            "import importlib, sys; importlib.import_module(sys.argv[1]); "
            f"print(*sorted({{name.partition('.')[0] for name in sys.modules}} & set({HEAVY!r})))"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-c", code, _module(plugin)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  # us
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [], (
            f"importing {_module(plugin)} loads {done.stdout.strip()}; import it inside"
        )


def _module(plugin: Plugin) -> str:
    return plugin.__module__ if isinstance(plugin, type) else plugin.__name__


def _candidate(plugin: Plugin) -> Candidate:
    attribute = f":{plugin.__qualname__}" if isinstance(plugin, type) else ""
    point = f"{_module(plugin)}{attribute}"
    found = [each for each in discover() if each.module in {point, _module(plugin)}]
    assert found, (
        f"no installed distribution has an entry point for {point}; its pyproject.toml needs "
        f'[project.entry-points.mlxp] with a line such as name = "{point}", and it must be installed'
    )
    return found[0]


def _contradictions(plugin: Plugin) -> Iterator[str]:
    for hook, implementation in marked(new_manager(), plugin):
        if hook not in CORE_HOOKS:
            continue
        promised = _hints(getattr(hookspecs, hook))
        for name, hint in _hints(implementation.function).items():
            fits = (
                _returns(hint, promised[name]) if name == "return" else hint in (promised.get(name), object)
            )
            if not fits:
                yield f"{hook}: {name} is annotated as {hint}; the hook says {promised.get(name)}"


def _hints(function: typing.Any) -> dict[str, typing.Any]:
    """Resolve annotations; names that a module imports for type checkers only are those of the contracts."""
    return typing.get_type_hints(function, localns={**_NAMES, **function.__globals__})


def _returns(hint: typing.Any, promised: typing.Any) -> bool:
    """Say whether what an implementation returns is among what its hook may return."""
    if typing.get_origin(promised) is not Sequence:
        return hint == promised or hint in typing.get_args(promised)
    (wanted,) = typing.get_args(promised)
    items = [item for item in typing.get_args(hint) if item is not Ellipsis]
    return typing.get_origin(hint) in (list, tuple, Sequence) and all(
        not isinstance(item, type) or issubclass(item, wanted) for item in items
    )


def private_imports(path: Path) -> Iterator[str]:
    """Yield what a source file imports of ``mlxp_core`` besides the public rooms."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for module in _imported(node):
            room = module.removeprefix("mlxp_core.").partition(".")[0]
            if module.startswith("mlxp_core.") and room not in PUBLIC_ROOMS:
                yield f"{path.name} imports {module}"


def _sources(plugin: Plugin) -> list[Path]:
    """Return every file of the top-level package (or the one module) that the plugin is part of."""
    package = sys.modules[_module(plugin).partition(".")[0]]
    if not package.__file__:
        return []
    file = Path(package.__file__)
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module="mlxp_core", names=names):
            rooms = [f"mlxp_core.{alias.name}" for alias in names]
            yield from (room for room in rooms if importlib.util.find_spec(room) is not None)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
        case _:
            return
