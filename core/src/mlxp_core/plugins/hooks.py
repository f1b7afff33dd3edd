"""Whether a plugin's implementations fit the hooks they name; said in words before pluggy refuses them."""

import inspect
from collections.abc import Iterator

from pluggy import HookImpl, PluginManager

from mlxp_core import hookspecs
from mlxp_core.plugins.spelling import suggestion

PROJECT = "mlxp"

CORE_HOOKS = tuple(
    name for name, spec in vars(hookspecs).items() if name.startswith("mlxp_") and inspect.isfunction(spec)
)
"""Names of the hooks that the core declares, in the order of ``hookspecs.py``."""


Marks = tuple[tuple[str, HookImpl], ...]
"""What a plugin marks with ``@hookimpl``: hook names and implementations."""


def new_manager() -> PluginManager:
    """Return a manager that knows the core's hooks and no plugin."""
    manager = PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def marked(manager: PluginManager, plugin: object) -> Marks:
    """Return everything that ``plugin`` marks with ``@hookimpl``."""
    attributes = dir(plugin)
    options = ((name, manager.parse_hookimpl_opts(plugin, name)) for name in attributes)
    return tuple(
        (marks.get("specname") or name, HookImpl(plugin, "", getattr(plugin, name), marks))
        for name, marks in options
        if marks is not None
    )


def unmarked(manager: PluginManager, plugin: object) -> Iterator[str]:
    """Yield the functions of ``plugin`` that are named like a hook and lack ``@hookimpl``."""
    for name in CORE_HOOKS:
        function = getattr(plugin, name, None)
        if callable(function) and manager.parse_hookimpl_opts(plugin, name) is None:
            yield name


def misfits(manager: PluginManager, marks: Marks) -> Iterator[str]:
    """Yield what is wrong with what a plugin has ``marked``, given every hook that ``manager`` knows."""
    known = {
        name: caller.spec.argnames for name, caller in vars(manager.hook).items() if caller.spec is not None
    }
    for name, implementation in marks:
        if name in known:
            yield from _misfit(name, known[name], implementation)
        elif not implementation.optionalhook:
            yield (
                f"{name} is no hook{suggestion(name, known)} A hook of another plugin "
                "needs that plugin to be on, or @hookimpl(optionalhook=True)"
            )


def _misfit(hook: str, allowed: tuple[str, ...], implementation: HookImpl) -> Iterator[str]:
    for argument in implementation.argnames:
        if argument not in allowed:
            takes = ", ".join(allowed) or "no arguments"
            yield f"{hook} has no argument {argument!r}{suggestion(argument, allowed)} It takes: {takes}"
    for argument in implementation.kwargnames:
        if argument in allowed:
            yield f"{hook} gives {argument!r} a default, so it would never be passed; drop the default"
    if hook in CORE_HOOKS:
        if implementation.wrapper or implementation.hookwrapper:
            yield f"{hook} is implemented as a wrapper; hooks of the core take plain functions only"
        if inspect.iscoroutinefunction(implementation.function):
            yield f"{hook} is an async function; hooks are called, never awaited"
