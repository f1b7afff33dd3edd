"""``mlxp serve``: from a model's name to a running server."""

import importlib
import logging
import os
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mlxp_core.blas import load_fast_blas
from mlxp_core.cli.banner import address, banner, speed
from mlxp_core.cli.flags import said, setting_options
from mlxp_core.cli.folders import cache_folder
from mlxp_core.cli.models import chosen
from mlxp_core.cli.progress import loading
from mlxp_core.cli.ranked import Company, as_rank, follow, leading
from mlxp_core.cli.selection import set_up_here
from mlxp_core.cli.start_page import has_start_page, open_start_page, wanted
from mlxp_core.cli.sweeping import unswept
from mlxp_core.errors import SetupError
from mlxp_core.ranks import launched
from mlxp_core.types import EngineSettings, EngineStats, ModelsSettings, ServerSettings

if TYPE_CHECKING:
    from mlxp_core.desk import Lineup
    from mlxp_core.plugins import Setup

log = logging.getLogger("mlxp")


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml.")
@click.option(
    "--open/--no-open",
    "browse",
    default=None,
    help="Open the start page in a browser [default: at a terminal].",
)
@click.option("-v", "--verbose", is_flag=True, help="Log what is going on inside, too.")
@setting_options
def serve(  # one parameter an option
    models: tuple[str, ...], *, config: str | None, browse: bool | None, verbose: bool, **given: object
) -> None:
    """Serve each MODEL over HTTP.

    MODEL is a folder, or a name that a plugin can resolve. Without one, the best model on this machine is served.
    Several models share the memory budget: as many as fit are loaded, others when they are asked for.
    """
    began = time.perf_counter()
    with ExitStack() as start:
        start.enter_context(unswept())
        from mlxp_core.server import bind, check_exposure  # `mlxp --help` needs no web server

        _log(verbose=verbose)
        launch = launched(os.environ)
        flags = said(given) if launch is None else as_rank(said(given))
        setup = set_up_here(flags, config, commands=False)
        server = setup.settings.section(ServerSettings)
        check_exposure(server)
        _check_back_end()
        if launch is not None and not launch.leads:
            lineup = _lined_up(chosen(models, setup), setup, start)
            start.close()
            follow(launch, setup, lineup)
            return
        with bind(server) as sock:
            paths = chosen(models, setup)
            with leading(launch, setup) as company:
                _run(_lined_up(paths, setup, start), setup, sock, start, began, company, browse=browse)


def _lined_up(paths: Mapping[str, Path], setup: "Setup", start: ExitStack) -> "Lineup":
    from mlxp_core.desk import line_up, open_model  # `mlxp --help` needs none of this
    from mlxp_core.loading.files import model_name  # as above

    registry, running = setup.registry, setup.settings.section(EngineSettings)
    show = start.enter_context(loading())
    opened = [
        (ref, open_model(path, registry, running, show(model_name(path)))) for ref, path in paths.items()
    ]
    lineup = line_up(opened, setup.settings.section(ModelsSettings))
    for each in lineup.models.values():
        for warning in each.plan.folder.warnings:
            log.warning("%s: %s", each.plan.folder.name, warning)
    return lineup


def _run(
    lineup: "Lineup",
    setup: "Setup",
    sock: socket.socket,
    start: ExitStack,
    began: float,
    company: Company | None,
    *,
    browse: bool | None,
) -> None:
    from mlxp_core.cli.assembly import assemble  # `mlxp --help` needs none of this
    from mlxp_core.server import build_app  # as above
    from mlxp_core.server import serve as run_server  # as above

    registry, server = setup.registry, setup.settings.section(ServerSettings)
    desk = assemble(lineup, setup, company)

    def loaded(stats: EngineStats) -> None:
        start.close()
        if stats.state == "ready":
            names, url = ", ".join(lineup.models), address(server.host, sock)
            click.echo(banner(names, url, registry.protocols, server))
            for line in filter(None, (speed(desk.fit(model)) for model in lineup.models)):
                click.echo(line)
            if company is not None:
                click.echo(f"computed by {company.launch.ranks} ranks over {company.launch.backend}")
            if has_start_page(app):
                click.echo(f"in a browser: {url}/")
                if wanted(browse, os.environ, sys.stdout):
                    open_start_page(url)
            click.echo(f"ready after {time.perf_counter() - began:.1f} s; Ctrl-C stops")

    app = build_app(registry, desk, server)
    run_server(app, desk, server, sock, loaded=loaded)


def _check_back_end() -> None:
    fast = load_fast_blas(os.environ, cache_folder(os.environ, Path.home()))
    log.debug("products on the processor: %s", fast or "as MLX brings them")
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
