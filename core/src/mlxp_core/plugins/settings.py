"""mlxp.toml < ``MLXP_*`` < flags, decoded into typed sections; every value remembers where it came from."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, inspect, structs

from mlxp_core.contracts import SettingInForce, SettingsSection
from mlxp_core.errors import SettingsError
from mlxp_core.plugins.config_file import FILE_NAME, from_tables, read_file
from mlxp_core.plugins.disclosure import in_force
from mlxp_core.plugins.environment import from_environment, variable_name
from mlxp_core.plugins.layers import Given, Sections, Source, from_flags, merged
from mlxp_core.plugins.spelling import suggestion
from mlxp_core.types import (
    AdapterSettings,
    EngineSettings,
    GenerationSettings,
    ModelsSettings,
    PluginSettings,
    ServerSettings,
)

S = TypeVar("S", bound=Struct)

Flags = Mapping[str, Mapping[str, object]]
"""Section -> key -> what the command line says; ``None`` and ``()`` mean not given."""

CORE_SECTIONS: Mapping[str, type[Struct]] = {
    "server": ServerSettings,
    "engine": EngineSettings,
    "generation": GenerationSettings,
    "models": ModelsSettings,
    "adapters": AdapterSettings,
    "plugins": PluginSettings,
}

_DEFAULT = Source("default")
_BETWEEN = re.compile(r"[,\n]")
_LISTS = (
    inspect.ListType,
    inspect.VarTupleType,
    inspect.TupleType,
    inspect.SetType,
    inspect.FrozenSetType,
)
_TABLES = (inspect.DictType, inspect.StructType)


class SettingsStore(Struct, frozen=True, eq=False):
    """All settings, decoded.

    Attributes:
        sections: section name -> its value.
        sources: ``"section.key"`` -> where the value was found, defaults included.
        path: the settings file that was read, if any.
    """

    sections: Mapping[str, Struct]
    sources: Mapping[str, Source]
    path: Path | None = None

    def in_force(self) -> tuple[SettingInForce, ...]:
        """Return every setting, what may not be shown left out."""
        return in_force(self.sections, self.sources)

    def section(self, kind: type[S]) -> S:
        """Return the section whose ``SettingsSection.type`` is ``kind``.

        Raises:
            SettingsError: no section is decoded into ``kind``.
        """
        for value in self.sections.values():
            if isinstance(value, kind):
                return value
        raise SettingsError(
            f"no section of the settings is a {kind.__name__}; declare it with the hook mlxp_settings_sections"
        )


def load_settings(
    path: Path | None,
    environ: Mapping[str, str],
    flags: Flags,
    sections: Sequence[SettingsSection] = (),
    *,
    absent: frozenset[str] = frozenset(),
) -> SettingsStore:
    """Read every layer and decode every section.

    Args:
        path: the settings file, or none; see ``find_config``.
        environ: the environment.
        flags: what the command line says.
        sections: what plugins declared.
        absent: plugins that are off or broken; their sections and variables are passed over.

    Raises:
        SettingsError: anything unknown, missing or of the wrong type, naming the key and where it was found.
    """
    known = {**CORE_SECTIONS, **{section.name: section.type for section in sections}}
    layers = [from_environment(environ, known, absent=absent), from_flags(flags)]
    if path is not None:
        layers.insert(0, from_tables(path, read_file(path), known, environ, absent=absent))
    given = merged(layers)
    if unknown := given.keys() - known.keys():
        raise SettingsError(f"flags name no section: {', '.join(sorted(unknown))}")
    decoded = {name: _section(name, kind, given.get(name, {})) for name, kind in known.items()}
    sources = {
        f"{name}.{field.encode_name}": _source(given, name, field.encode_name)
        for name, kind in known.items()
        for field in structs.fields(kind)
    }
    return SettingsStore(decoded, sources, path)


def load_plugin_settings(path: Path | None, environ: Mapping[str, str], flags: Flags) -> PluginSettings:
    """Read ``[plugins]`` alone: it says which plugins to load, so it comes before their sections are known.

    Raises:
        SettingsError: something in that section is unknown or of the wrong type.
    """
    name = "plugins"
    known: Sections = {name: PluginSettings}
    own = {variable: text for variable, text in environ.items() if variable.startswith("MLXP_PLUGINS")}
    layers = [from_environment(own, known), from_flags({name: flags.get(name, {})})]
    if path is not None:
        tables = {section: table for section, table in read_file(path).items() if section == name}
        layers.insert(0, from_tables(path, tables, known, environ))
    return _section(name, PluginSettings, merged(layers).get(name, {}))


def _source(given: Mapping[str, Mapping[str, Given]], section: str, key: str) -> Source:
    found = given.get(section, {}).get(key)
    return _DEFAULT if found is None else found.source


def _section(name: str, kind: type[S], given: Mapping[str, Given]) -> S:
    fields = {field.encode_name: field for field in structs.fields(kind)}
    for key, value in given.items():
        if key not in fields:
            raise SettingsError(
                f"{value.source}: [{name}] has no setting {key!r}{suggestion(key, fields)}"
                f" Known: {', '.join(sorted(fields))}."
            )
    needed = {key for key, field in fields.items() if field.required}
    if missing := sorted(needed - given.keys()):
        raise SettingsError(
            f"[{name}] needs {', '.join(missing)}; set it in {FILE_NAME} or as {variable_name(name, missing[0])}"
        )
    values = {
        fields[key].name: _value(f"{name}.{key}", fields[key].type, value) for key, value in given.items()
    }
    try:
        return kind(**values)
    except (ValueError, TypeError) as error:  # a section's own __post_init__ refuses a combination
        where = ", ".join(sorted({str(value.source) for value in given.values()}))
        raise SettingsError(f"[{name}] from {where}: {error}") from error


def _value(key: str, kind: Any, given: Given) -> Any:
    """Convert one value; ``kind`` is a type as annotations write it, the result one of that type."""
    try:
        value = _parsed(str(given.value), kind) if given.text else given.value
        return msgspec.convert(value, kind, strict=not given.text, dec_hook=_other_type)
    except (msgspec.MsgspecError, ValueError) as error:
        shown = "" if given.source.secret else f"; it says {given.value!r}"
        raise SettingsError(f"{key} from {given.source}: {error}{shown}") from error


def _parsed(text: str, kind: Any) -> object:
    """Read text as JSON where a table or ``[`` calls for it, split lists at commas and line ends, leave the rest."""
    shape = inspect.type_info(kind)
    kinds = shape.types if isinstance(shape, inspect.UnionType) else (shape,)
    if any(isinstance(each, _TABLES) for each in kinds):
        return json.loads(text)
    if any(isinstance(each, _LISTS) for each in kinds):
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [word.strip() for word in _BETWEEN.split(text) if word.strip()]
    return text


def _other_type(kind: type, value: object) -> object:
    """Build a type that msgspec does not know: paths, with ``~`` for the home directory."""
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    raise ValueError(f"a setting cannot be a {kind.__name__}; its plugin must declare another type")
