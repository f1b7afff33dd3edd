"""From flags to a registry: which plugins, their settings, what they bring; the order matters and is kept here."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from mlxp_core.plugins.config_file import find_config
from mlxp_core.plugins.loader import load_plugins
from mlxp_core.plugins.registry import Registry, build_registry
from mlxp_core.plugins.settings import Flags, SettingsStore, load_plugin_settings, load_settings


class Setup(Struct, frozen=True, eq=False):
    """Settings and registry of one start."""

    settings: SettingsStore
    registry: Registry


def set_up(
    flags: Flags,
    *,
    config: str | None,
    environ: Mapping[str, str],
    here: Path,
    home: Path,
    extra: Iterable[tuple[str, object]] = (),
    path: Sequence[str] | None = None,
    commands: bool = True,
) -> Setup:
    """Read ``[plugins]``, load the plugins, read all settings with their sections, ask what they bring.

    Args:
        flags: section -> key -> what the command line says.
        config: what ``--config`` says, if anything.
        environ: the environment.
        here: the working directory.
        home: the user's home directory.
        extra: further plugins as pairs of a name and a module or object.
        path: folders to search for distributions in place of ``sys.path``.
        commands: ask for the plugins' commands, too; a server has no use for them, and they import much.

    Raises:
        SetupError: a setting or a plugin is wrong.
    """
    file = find_config(config, environ, here=here, home=home)
    plugins = load_plugins(load_plugin_settings(file, environ, flags), extra=extra, path=path)
    settings = load_settings(file, environ, flags, plugins.sections, absent=plugins.absent)
    return Setup(settings, build_registry(plugins, settings, commands=commands))
