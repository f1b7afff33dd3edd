"""The settings sections that plugins declare."""

from collections.abc import Mapping
from functools import partial

from msgspec import Struct, structs
from pluggy import PluginManager

from mlxp_core.contracts import SettingsSection
from mlxp_core.plugins.calls import PluginFault, ask, attempt, checked, implementations
from mlxp_core.plugins.clashes import Brought, clashes
from mlxp_core.plugins.settings import CORE_SECTIONS

HOOK = "mlxp_settings_sections"


def declared_sections(
    manager: PluginManager, described: Mapping[str, str]
) -> tuple[tuple[SettingsSection, ...], dict[str, str]]:
    """Return every section declared, and plugin name -> fault for declarations that cannot be used.

    Args:
        manager: with the plugins registered.
        described: plugin name -> how messages name it.
    """
    sections: list[tuple[str, SettingsSection]] = []
    faults: dict[str, str] = {}
    for implementation in implementations(manager.hook.mlxp_settings_sections):
        owner = implementation.plugin_name
        try:
            answer = attempt(HOOK, partial(ask, implementation, {}))
            for section in checked(HOOK, answer, SettingsSection):
                _check(section, owner)
                sections.append((owner, section))
        except PluginFault as error:
            faults[owner] = str(error)
    brought = [Brought(owner, "settings section", section.name) for owner, section in sections]
    brought += [Brought(owner, "settings type", section.type.__qualname__) for owner, section in sections]
    return tuple(section for _, section in sections), {**clashes(brought, described), **faults}


def _check(section: SettingsSection, owner: str) -> None:
    # So that the section of a plugin that is off, and was never asked, can be told from a misspelt one.
    if section.name != owner and not section.name.startswith(f"{owner}-"):
        raise PluginFault(
            f"its section must be called {owner!r} or begin with '{owner}-', not {section.name!r}"
        )
    if section.name in CORE_SECTIONS:
        raise PluginFault(f"the section {section.name!r} belongs to the core; the plugin needs another name")
    if not isinstance(section.type, type) or not issubclass(section.type, Struct):
        raise PluginFault(f"the type of its section {section.name!r} is no msgspec.Struct")
    attempt(f"reading the fields of its section {section.name!r}", partial(structs.fields, section.type))
