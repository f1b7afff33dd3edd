"""Which model ``mlxp serve`` serves: the one that was named, else the best there is, and a line that says which."""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import rich_click as click

from mlxp_core.cli.folders import cache_folder
from mlxp_core.cli.workbench import Bench
from mlxp_core.errors import SetupError
from mlxp_core.plugins import Registry, Setup
from mlxp_core.types import GenerationSettings, ModelsSettings

SKETCH = "mlxp-sketch"
"""The folder, and so the name, of the random model that is served when there is no other."""


def chosen(refs: Sequence[str], setup: Setup) -> dict[str, Path]:
    """Return the folders to serve by their references, the default model's first.

    Args:
        refs: what the command line names; without any, the settings do, and without those it is the best there is.
        setup: settings and plugins.

    Raises:
        SetupError: no plugin knows a reference.
    """
    one = setup.settings.section(GenerationSettings).model
    named = refs or setup.settings.section(ModelsSettings).serve or ([one] if one else [])
    if named:
        return {ref: find(ref, setup.registry) for ref in named}
    path = best(setup)
    return {_called(path): path}


def find(ref: str, registry: Registry) -> Path:
    """Return the folder of a model reference.

    Raises:
        SetupError: no plugin knows it.
    """
    folder = registry.resolve(ref)
    if folder is None:
        raise SetupError(
            f"no model {ref!r}: it is no folder, and no plugin knows the name; give a folder with a config.json"
        )
    return folder


def best(setup: Setup) -> Path:
    """Return the folder to serve where none was named, and say which it is and why.

    The first of these: what a plugin chooses, as the best one downloaded, or a small one that it brings; a tiny random
    one.
    """
    choice = setup.registry.default_model(Bench(setup).appraise)
    if choice is not None:
        _say(_called(choice.path), choice.why)
        return choice.path
    _say(SKETCH, "a tiny one with random weights, whose answers mean nothing")
    return sketch(os.environ, Path.home())


def sketch(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """Return the folder of the built-in random model, written into the user's cache on first use.

    Args:
        environ: the environment; ``XDG_CACHE_HOME`` is honoured.
        home: the user's home directory.
        platform: ``sys.platform``; macOS keeps caches in ``~/Library/Caches``.
    """
    from mlxp_core.loading.sketch import write_sketch  # only where it is served

    cache = cache_folder(environ, home, platform)
    folder = cache / SKETCH
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            written = write_sketch(Path(fresh) / SKETCH)
            with suppress(OSError):  # another server was quicker; its folder holds the same bytes
                written.rename(folder)
    return folder


def _called(path: Path) -> str:
    from mlxp_core.loading.files import model_name  # only where something is served

    return model_name(path)


def _say(name: str, why: str) -> None:
    click.echo(f"no model was named: serving {name}, {why}")
