"""``mlxp serve``: from a model's name to a running server."""

import importlib
import logging
import os
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mlxp_core.cli.banner import address, banner
from mlxp_core.cli.flags import said, setting_options
from mlxp_core.cli.models import best, find
from mlxp_core.cli.progress import loading
from mlxp_core.cli.selection import set_up_here
from mlxp_core.errors import SetupError
from mlxp_core.types import EngineSettings, EngineStats, GenerationSettings, ServerSettings

if TYPE_CHECKING:
    from mlxp_core.plugins import Setup

log = logging.getLogger("mlxp")


@click.command()
@click.argument("model", required=False)
@click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml.")
@click.option("-v", "--verbose", is_flag=True, help="Log what is going on inside, too.")
@setting_options
def serve(model: str | None, config: str | None, verbose: bool, **given: object) -> None:
    """Serve MODEL over HTTP.

    MODEL is a folder, or a name that a plugin can resolve. Without one, the best model on this machine is served.
    """
    began = time.perf_counter()
    from mlxp_core.server import bind, check_exposure  # `mlxp --help` needs no web server

    _log(verbose=verbose)
    setup = set_up_here(said(given), config)
    server = setup.settings.section(ServerSettings)
    check_exposure(server)
    _check_back_end()
    with bind(server) as sock:
        named = model or setup.settings.section(GenerationSettings).model
        _run(find(named, setup.registry) if named else best(setup), setup, sock, began)


def _run(path: Path, setup: "Setup", sock: socket.socket, began: float) -> None:
    from mlxp_core.cli.weighing import reckon_of, this_machine_or_fail  # as above
    from mlxp_core.desk import Desk, keeper, own_root  # `mlxp --help` needs none of this
    from mlxp_core.engine import Engine, LoadPlan  # as above
    from mlxp_core.loading import choose_family, load_frontend, open_folder  # as above
    from mlxp_core.loading.kv_config import kv_scheme  # as above
    from mlxp_core.memory import MemoryPlan  # as above
    from mlxp_core.server import build_app  # as above
    from mlxp_core.server import serve as run_server  # as above

    registry, server = setup.registry, setup.settings.section(ServerSettings)
    folder = open_folder(path)
    for warning in folder.warnings:
        log.warning("%s: %s", folder.name, warning)
    family, config = choose_family(folder, registry.families)
    frontend = load_frontend(folder, registry)
    name, running = frontend.info.id, setup.settings.section(EngineSettings)
    reckon = reckon_of(folder, family, config, frontend.eyes, running)
    memory = MemoryPlan({name: reckon}, this_machine_or_fail(), running)
    with ExitStack() as shown:
        told = shown.enter_context(loading(name))
        plan = LoadPlan(
            folder=folder,
            family=family,
            config=config,
            eyes=frontend.eyes,
            used=frontend.tokenizer.used,
            spell=lambda token: frontend.tokenizer.decode([token]),
            dtype=running.dtype,
            kv=kv_scheme(path, running),
            progress=told,
        )
        engine = Engine(
            {name: plan},
            running,
            registry.sampler_stages,
            admission=memory.admission,
            on_record=keeper(registry.observers),
        )
        roots = (own_root(os.environ, Path.home()),)
        desk = Desk(engine, {name: frontend}, registry, setup.settings, adapter_roots=roots, memory=memory)

        def loaded(stats: EngineStats) -> None:
            shown.close()
            if stats.state == "ready":
                click.echo(banner(name, address(server.host, sock), registry.protocols, server))
                click.echo(f"ready after {time.perf_counter() - began:.1f} s; Ctrl-C stops")

        run_server(build_app(registry, desk, server), desk, server, sock, loaded=loaded)


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
