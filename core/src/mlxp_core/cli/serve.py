"""``mlxp serve``: from a model's name to a running server."""

import importlib
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mlxp_core import __version__
from mlxp_core.cli.banner import address, banner
from mlxp_core.cli.flags import said, setting_options
from mlxp_core.cli.progress import loading
from mlxp_core.cli.selection import set_up_here
from mlxp_core.errors import SetupError
from mlxp_core.types import EngineSettings, EngineStats, GenerationSettings, ServerSettings

if TYPE_CHECKING:
    from mlxp_core.plugins import Registry, Setup

log = logging.getLogger("mlxp")

SKETCH = "mlxp-sketch"
"""The folder, and so the name, of the random model that is served when none is named."""


@click.command()
@click.argument("model", required=False)
@click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml.")
@click.option("-v", "--verbose", is_flag=True, help="Log what is going on inside, too.")
@setting_options
def serve(model: str | None, config: str | None, verbose: bool, **given: object) -> None:
    """Serve MODEL over HTTP.

    MODEL is a folder, or a name that a plugin can resolve. Without one, a tiny random model is served.
    """
    began = time.perf_counter()
    from mlxp_core.server import bind, check_exposure  # `mlxp --help` needs no web server

    _log(verbose=verbose)
    setup = set_up_here(said(given), config)
    server = setup.settings.section(ServerSettings)
    check_exposure(server)
    _check_back_end()
    with bind(server) as sock:
        folder = _folder(model or setup.settings.section(GenerationSettings).model, setup.registry)
        _run(folder, setup, sock, began)


def _run(path: Path, setup: "Setup", sock: socket.socket, began: float) -> None:
    from mlxp_core.desk import Desk, keeper  # `mlxp --help` needs none of this
    from mlxp_core.engine import Engine, LoadPlan  # as above
    from mlxp_core.loading import choose_family, load_frontend, open_folder  # as above
    from mlxp_core.loading.kv_config import kv_scheme  # as above
    from mlxp_core.server import build_app  # as above
    from mlxp_core.server import serve as run_server  # as above

    registry, server = setup.registry, setup.settings.section(ServerSettings)
    folder = open_folder(path)
    for warning in folder.warnings:
        log.warning("%s: %s", folder.name, warning)
    family, config = choose_family(folder, registry.families)
    frontend = load_frontend(folder, registry)
    name, running = frontend.info.id, setup.settings.section(EngineSettings)
    with ExitStack() as shown:
        told = shown.enter_context(loading(name))
        plan = LoadPlan(
            folder=folder,
            family=family,
            config=config,
            eyes=frontend.eyes,
            used=frontend.tokenizer.used,
            dtype=running.dtype,
            kv=kv_scheme(path, running.kv_quant),
            progress=told,
        )
        engine = Engine({name: plan}, running, registry.sampler_stages, on_record=keeper(registry.observers))
        desk = Desk(engine, {name: frontend}, registry, setup.settings)

        def loaded(stats: EngineStats) -> None:
            shown.close()
            if stats.state == "ready":
                click.echo(banner(name, address(server.host, sock), registry.protocols, server))
                click.echo(f"ready after {time.perf_counter() - began:.1f} s; Ctrl-C stops")

        run_server(build_app(registry, desk, server), desk, server, sock, loaded=loaded)


def _folder(ref: str | None, registry: "Registry") -> Path:
    """Return the folder of a model reference; of the built-in sketch when there is none."""
    if ref is None:
        click.echo("no model was named: serving a tiny one with random weights, whose answers mean nothing")
        return sketch(os.environ, Path.home())
    folder = registry.resolve(ref)
    if folder is None:
        raise SetupError(
            f"no model {ref!r}: it is no folder, and no plugin knows the name; give a folder with a config.json"
        )
    return folder


def sketch(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """Return the folder of the built-in random model, written into the user's cache on first use.

    Args:
        environ: the environment; ``XDG_CACHE_HOME`` is honoured.
        home: the user's home directory.
        platform: ``sys.platform``; macOS keeps caches in ``~/Library/Caches``.
    """
    from mlxp_core.loading.sketch import write_sketch  # only where it is served

    usual = home / ("Library/Caches" if platform == "darwin" else ".cache")
    cache = Path(environ.get("XDG_CACHE_HOME") or usual) / "mlxp" / __version__
    folder = cache / SKETCH
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            written = write_sketch(Path(fresh) / SKETCH)
            with suppress(OSError):  # another server was quicker; its folder holds the same bytes
                written.rename(folder)
    return folder


def _check_back_end() -> None:
    try:
        importlib.import_module("mlx.core")  # for its failure only: nothing here touches an array
    except ImportError as error:
        raise SetupError(
            f"MLX has no back end on this machine ({error}); install mlxp-core[cpu] for the processor, or "
            "mlxp-core[cuda] for an NVIDIA GPU"
        ) from error


def _log(*, verbose: bool) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    for name in ("mlxp", "mlxp_core"):
        logging.getLogger(name).setLevel(logging.DEBUG if verbose else logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.INFO if verbose else logging.WARNING)
