"""Entry points -> loaded plugins: blocked before they are imported, refused when doubled, reported when broken.

pluggy's own loader skips a doubled name without a word and lets one failing import stop everything; hence this one.

1. Find candidates: built in, installed, handed over.
2. Judge each: switched off (never imported), doubled, made for another core, impossible to import.
3. Register what is left on a fresh manager. Whoever fails is broken, and everything is registered again without it, so
   that nothing of a broken plugin stays behind. Each round loses a plugin, so the rounds end.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Literal

from msgspec import Struct, structs
from pluggy import PluginManager

from mlxp_core import __version__
from mlxp_core.contracts import SettingsSection
from mlxp_core.errors import PluginError, SettingsError
from mlxp_core.plugins.calls import PluginFault, ask, attempt
from mlxp_core.plugins.discovery import Candidate, built_in, discover, given
from mlxp_core.plugins.hooks import Marks, marked, misfits, new_manager, unmarked
from mlxp_core.plugins.requirement import fit
from mlxp_core.plugins.sections import declared_sections
from mlxp_core.plugins.spelling import suggestion
from mlxp_core.types import PluginSettings

BUILT_IN = (built_in("folders", "mlxp_core.plugins.folders", __version__),)
"""Features of the core that are plugins like any other."""

Faults = Mapping[str, str]
"""Plugin name -> what is wrong with it."""


class Found(Struct, frozen=True, kw_only=True):
    """One plugin, as found and judged.

    Attributes:
        candidate: what was found.
        state: ``on``, ``off`` (switched off, never imported) or ``broken``.
        plugin: the module or object, once imported.
        marks: the hooks that it implements, by name.
        fault: why it is broken.
        warnings: what its author should repair.
        load_ms: time its import took.
    """

    candidate: Candidate
    state: Literal["on", "off", "broken"]
    plugin: object = None
    marks: Marks = ()
    fault: str | None = None
    warnings: tuple[str, ...] = ()
    load_ms: float = 0.0

    @property
    def name(self) -> str:
        """Return the entry-point name."""
        return self.candidate.name

    def __str__(self) -> str:
        """Return it as messages name it."""
        return f"{self.name} ({self.candidate.module}, {self.candidate.origin})"


class Plugins(Struct, frozen=True, kw_only=True, eq=False):
    """Every plugin found; those that are on are registered with ``manager``.

    Attributes:
        found: all of them, in the order in which their hooks are called.
        manager: knows the core's hooks, those that plugins added, and the plugins that are on.
        sections: the settings sections they declare.
        skip_broken: whether broken plugins are left out instead of refused.
    """

    found: tuple[Found, ...]
    manager: PluginManager
    sections: tuple[SettingsSection, ...]
    skip_broken: bool

    @property
    def absent(self) -> frozenset[str]:
        """Return the names of the plugins that are off or broken."""
        return frozenset(each.name for each in self.found if each.state != "on")

    def without(self, faults: Faults) -> "Plugins":
        """Return the plugins with those of ``faults`` broken and nothing of them registered.

        Raises:
            PluginError: broken plugins are not to be skipped.
        """
        return _assembled(_broken(self.found, faults), skip_broken=self.skip_broken)


def load_plugins(
    settings: PluginSettings,
    *,
    extra: Iterable[tuple[str, object]] = (),
    path: Sequence[str] | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Plugins:
    """Find, import, check and register plugins.

    Args:
        settings: which are on, and whether broken ones are skipped.
        extra: further plugins as pairs of a name and a module or object.
        path: folders to search for distributions in place of ``sys.path``; ``()`` = only ``extra`` and the built-in.
        clock: seconds, for load times.

    Raises:
        SettingsError: the settings name a plugin that is not installed.
        PluginError: a plugin is broken and broken ones are not to be skipped; the message lists all of them.
    """
    handed = tuple(given(name, plugin) for name, plugin in extra)
    candidates = (*BUILT_IN, *discover(path), *handed)
    _check_chosen(settings, {candidate.name for candidate in candidates})
    wanted = [candidate for candidate in candidates if _is_on(candidate, settings)]
    doubled = _doubled(wanted)
    manager = new_manager()
    found = tuple(
        _judged(candidate, doubled, manager, clock)
        if candidate in wanted
        else Found(candidate=candidate, state="off")
        for candidate in candidates
    )
    return _assembled(found, skip_broken=settings.skip_broken)


def _is_on(candidate: Candidate, settings: PluginSettings) -> bool:
    """Judge by name; ``only`` leaves the built-in ones on, which are switched off by name alone."""
    chosen = not settings.only or candidate.name in settings.only or candidate in BUILT_IN
    return chosen and candidate.name not in settings.disable


def _check_chosen(settings: PluginSettings, known: set[str]) -> None:
    for key, names in (("disable", settings.disable), ("only", settings.only)):
        for name in names:
            if name not in known:
                raise SettingsError(
                    f"plugins.{key} names {name!r}, which is not installed{suggestion(name, known)}"
                    f" Installed: {', '.join(sorted(known))}."
                )


def _doubled(wanted: Sequence[Candidate]) -> Faults:
    count = Counter(candidate.name for candidate in wanted)
    origins = {
        name: " and ".join(each.origin for each in wanted if each.name == name)
        for name in count
        if count[name] > 1
    }
    return {
        name: f"{both} both have a plugin {name!r}; uninstall one of them" for name, both in origins.items()
    }


def _judged(
    candidate: Candidate, doubled: Faults, manager: PluginManager, clock: Callable[[], float]
) -> Found:
    """Check what can be told from metadata, then import."""
    warnings: tuple[str, ...] = ()
    fault = doubled.get(candidate.name)
    if fault is None and candidate.requires is not None:
        made_for = fit(candidate.requires, __version__)
        fault = made_for.fault
        warnings = (made_for.warning,) if made_for.warning else ()
    if fault is not None:
        return Found(candidate=candidate, state="broken", fault=fault, warnings=warnings)
    start = clock()
    try:
        plugin = _made(attempt("its import", candidate.load))
        marks, oversights = attempt("looking at it", partial(_looked_at, plugin, manager))
    except PluginFault as error:
        return Found(candidate=candidate, state="broken", fault=str(error), warnings=warnings)
    load_ms = (clock() - start) * 1000
    return Found(
        candidate=candidate,
        state="on",
        plugin=plugin,
        marks=marks,
        warnings=(*warnings, *oversights),
        load_ms=load_ms,
    )


def _made(loaded: object) -> object:
    """Return the plugin: what was imported or, of a class, an object of it, which may keep something between hooks."""
    return attempt("making it", loaded) if isinstance(loaded, type) else loaded


def _looked_at(plugin: object, manager: PluginManager) -> tuple[Marks, tuple[str, ...]]:
    """Return the hooks that a plugin implements, and what its author has overlooked."""
    marks = marked(manager, plugin)
    forgotten = tuple(f"{name} lacks @hookimpl and is never called" for name in unmarked(manager, plugin))
    return marks, forgotten or (() if marks else ("it implements no hook",))


def _assembled(found: tuple[Found, ...], *, skip_broken: bool) -> Plugins:
    while True:
        manager, faults = _registered(found)
        sections: tuple[SettingsSection, ...] = ()
        if not faults:
            sections, faults = declared_sections(manager, {each.name: str(each) for each in found})
        if not faults:
            break
        found = _broken(found, faults)
    if not skip_broken and any(each.state == "broken" for each in found):
        raise PluginError(_refusal(found))
    return Plugins(found=found, manager=manager, sections=sections, skip_broken=skip_broken)


def _broken(found: tuple[Found, ...], faults: Faults) -> tuple[Found, ...]:
    return tuple(
        structs.replace(each, state="broken", fault=faults[each.name])
        if each.state == "on" and each.name in faults
        else each
        for each in found
    )


def _registered(found: tuple[Found, ...]) -> tuple[PluginManager, dict[str, str]]:
    manager = new_manager()
    live = [each for each in found if each.state == "on"]
    faults: dict[str, str] = {}
    for each in live:
        try:
            attempt("mlxp_add_hookspecs", partial(_add_hookspecs, manager, each.marks))
        except PluginFault as error:
            faults[each.name] = str(error)
    for each in reversed(live):  # the last registered is called first
        try:
            _register(manager, each)
        except PluginFault as error:
            faults.setdefault(each.name, str(error))
    if not faults:
        manager.check_pending()  # refuses what got past misfits()
    return manager, faults


def _register(manager: PluginManager, each: Found) -> None:
    if wrong := attempt("looking for its hooks", lambda: list(misfits(manager, each.marks))):
        raise PluginFault("; ".join(wrong))
    attempt("registering it", partial(manager.register, each.plugin, each.name))


def _add_hookspecs(manager: PluginManager, marks: Marks) -> None:
    for name, implementation in marks:
        if name == "mlxp_add_hookspecs":
            ask(implementation, {"manager": manager})


def _refusal(found: Iterable[Found]) -> str:
    broken = [f"  {each}: {each.fault}" for each in found if each.state == "broken"]
    return "\n".join(
        (
            "these plugins are broken:",
            *broken,
            "Repair or uninstall them, switch them off with --disable NAME, or go on without them: --skip-broken.",
        )
    )
