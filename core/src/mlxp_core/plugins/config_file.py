"""The settings file: where it is, what it says, and the secrets it only points at."""

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlxp_core.errors import SettingsError
from mlxp_core.plugins.layers import Given, Layer, Sections, Source
from mlxp_core.plugins.spelling import suggestion

CONFIG_VARIABLE = "MLXP_CONFIG"
FILE_NAME = "mlxp.toml"

Tables = Mapping[str, Mapping[str, Any]]
"""A settings file as parsed; ``Any`` ends where a section is decoded."""


def find_config(
    named: str | None, environ: Mapping[str, str], *, here: Path, home: Path, platform: str = sys.platform
) -> Path | None:
    """Return the settings file: ``--config``, ``MLXP_CONFIG``, ``./mlxp.toml``, the user's own, or none.

    Args:
        named: what ``--config`` says, if anything.
        environ: the environment.
        here: the working directory.
        home: the user's home directory.
        platform: ``sys.platform``; macOS keeps settings in ``~/Library/Application Support``.

    Raises:
        SettingsError: a file that was named does not exist.
    """
    for asked, origin in ((named, "--config"), (environ.get(CONFIG_VARIABLE), CONFIG_VARIABLE)):
        if asked:
            path = here / Path(asked).expanduser()
            if not path.is_file():
                raise SettingsError(
                    f"{origin} names {asked}, which is no file; create it or correct the path"
                )
            return path
    if xdg := environ.get("XDG_CONFIG_HOME"):
        user = Path(xdg)
    elif platform == "darwin":
        user = home / "Library" / "Application Support"
    else:
        user = home / ".config"
    places = (here / FILE_NAME, user / "mlxp" / FILE_NAME)
    return next((path for path in places if path.is_file()), None)


def read_file(path: Path) -> Tables:
    """Return the tables of a settings file.

    Raises:
        SettingsError: the file cannot be read, is no TOML, or has a key outside every section.
    """
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from error
    for key, value in tables.items():
        if not isinstance(value, dict):
            raise SettingsError(
                f"{path}: {key!r} stands outside every section; put it under one, as [server]"
            )
    return tables


def from_tables(
    path: Path,
    tables: Tables,
    sections: Sections,
    environ: Mapping[str, str],
    *,
    absent: frozenset[str] = frozenset(),
) -> Layer:
    """Return the layer of a settings file.

    Args:
        path: the file the tables were read from.
        tables: its tables.
        sections: what may be set.
        environ: for values written as ``{env = "NAME"}``.
        absent: plugins that are off or broken; their sections are passed over.

    Raises:
        SettingsError: an unknown section, or a secret that cannot be read.
    """
    layer: dict[str, dict[str, Given]] = {}
    for section, table in tables.items():
        if section in sections:
            layer[section] = {
                key: _reveal(value, f"{section}.{key}", path, environ) for key, value in table.items()
            }
        elif section not in absent:
            raise SettingsError(
                f"{path}: unknown section [{section}]{suggestion(section, sections)} "
                f"Known: {', '.join(sorted(sections))}. A plugin's section needs the plugin installed."
            )
    return layer


def _reveal(value: object, key: str, path: Path, environ: Mapping[str, str]) -> Given:
    """Follow ``{env = "NAME"}`` and ``{file = "path"}`` (relative to the settings file) to the value meant."""
    match value:
        case {"env": str(name), **rest} if not rest:
            if name not in environ:
                raise SettingsError(f"{path}: {key} reads the variable {name}, which is not set; set it")
            return Given(environ[name], Source("file", f"{path}, from ${name}", secret=True), text=True)
        case {"file": str(name), **rest} if not rest:
            secret = path.parent / Path(name).expanduser()
            try:
                text = secret.read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(f"{path}: {key} reads the file {secret}: {error}") from error
            return Given(text, Source("file", f"{path}, from {secret}", secret=True), text=True)
        case _:
            return Given(value, Source("file", str(path)))
