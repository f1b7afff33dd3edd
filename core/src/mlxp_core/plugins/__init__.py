"""Finding plugins, reading settings, asking each plugin once for what it brings."""

from mlxp_core.plugins.config_file import find_config
from mlxp_core.plugins.layers import Source
from mlxp_core.plugins.loader import Plugins, load_plugins
from mlxp_core.plugins.observers import Observers
from mlxp_core.plugins.registry import Registry, build_registry
from mlxp_core.plugins.settings import Flags, SettingsStore, load_plugin_settings, load_settings
from mlxp_core.plugins.start import Setup, set_up

__all__ = [
    "Flags",
    "Observers",
    "Plugins",
    "Registry",
    "SettingsStore",
    "Setup",
    "Source",
    "build_registry",
    "find_config",
    "load_plugin_settings",
    "load_plugins",
    "load_settings",
    "set_up",
]
