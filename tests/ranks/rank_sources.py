"""What a part of any model is loaded from, with the families that are installed."""

from functools import cache
from pathlib import Path

from mlxp_core.loading import choose_family, open_folder
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.ranks.part import Source
from mlxp_core.types import KVScheme, KVStorage, PluginSettings


@cache
def families():
    """Return the families of the project by name."""
    loaded = load_plugins(PluginSettings(only=("minicpm5", "qwen35", "gemma4")))
    return build_registry(loaded, load_settings(None, {}, {}, loaded.sections), commands=False).families


def source_of(name):
    """Return the source of a model, in float32: a folder, or a folder and ``#8`` for keys and values in 8 bits."""
    path, _, bits = name.partition("#")
    folder = open_folder(Path(path))
    family, config = choose_family(folder, families())
    kv = KVScheme(mode=bits, uniform=KVStorage(int(bits), 64)) if bits else KVScheme()
    return Source(folder=folder, family=family, config=config, dtype="float32", kv=kv)
