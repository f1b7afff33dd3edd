"""What this plugin brings: a hook for kinds of jobs, kinds of its own, commands, routes, and models that jobs made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlxp_core import hookimpl
from mlxp_core.contracts import SettingsSection
from mlxp_lab import hookspecs
from mlxp_lab.settings import LabSettings, lab_folder

if TYPE_CHECKING:
    import click
    import pluggy
    from litestar.types import ControllerRouterHandler

    from mlxp_core.contracts import Services, Settings
    from mlxp_core.types import MeasuredSpeed
    from mlxp_lab.generating.template import Template
    from mlxp_lab.generating.templates import Templates
    from mlxp_lab.jobs import JobKind
    from mlxp_lab.jobs.house import House
    from mlxp_lab.jobs.kinds import Kinds
    from mlxp_webui import Page


class LabPlugin:
    """Keeps whom to ask for kinds of jobs, and the lab of one server."""

    def __init__(self) -> None:
        """Begin without a server."""
        self._manager: pluggy.PluginManager | None = None
        self._house: House | None = None

    @hookimpl
    def mlxp_add_hookspecs(self, manager: pluggy.PluginManager) -> None:
        """Add the hook for kinds of jobs."""
        manager.add_hookspecs(hookspecs)
        self._manager = manager

    @hookimpl
    def mlxp_settings_sections(self) -> list[SettingsSection]:
        """Return the one section."""
        return [SettingsSection(name="lab", type=LabSettings, summary="Jobs on models")]

    @hookimpl
    def mlxp_lab_jobs(self) -> list[JobKind[Any]]:
        """Return the lab's own kinds of jobs."""
        from mlxp_lab.bench.job import KIND as BENCH
        from mlxp_lab.fusing.job import KIND as FUSE
        from mlxp_lab.generating.job import kind as generate
        from mlxp_lab.merging.job import KIND as MERGE
        from mlxp_lab.quantize.job import KIND as QUANTIZE
        from mlxp_lab.training.job import KIND as TRAIN

        return [BENCH, generate(self.templates), QUANTIZE, TRAIN, MERGE, FUSE]

    @hookimpl
    def mlxp_lab_templates(self) -> list[Template]:
        """Return the lab's own templates of datasets."""
        from mlxp_lab.generating.templates import OWN

        return [*OWN]

    @hookimpl
    def mlxp_commands(self) -> list[click.Command]:
        """Return the commands."""
        from mlxp_lab.bench.commands import commands as bench
        from mlxp_lab.commands import commands
        from mlxp_lab.datasets.commands import command as dataset
        from mlxp_lab.fusing.commands import command as fuse
        from mlxp_lab.generating.commands import commands as generating
        from mlxp_lab.merging.commands import command as merge
        from mlxp_lab.quantize.commands import command as quantize
        from mlxp_lab.training.commands import command as train

        return [
            *commands(self.kinds),
            *bench(self.kinds),
            quantize(self.kinds),
            train(self.kinds),
            merge(self.kinds),
            fuse(self.kinds),
            dataset(generating(self.kinds, self.templates)),
        ]

    @hookimpl
    def mlxp_resolve_model(self, ref: str, settings: Settings) -> Path | None:
        """Return the folder of a model that a job made."""
        made = lab_folder(settings.section(LabSettings), os.environ, Path.home()) / "models"
        known = made / ref
        return known if known.parent == made and (known / "config.json").is_file() else None

    @hookimpl
    def mlxp_measured_speed(self, model: Path, settings: Settings) -> MeasuredSpeed | None:
        """Return how fast a model was when it was measured last."""
        from mlxp_lab.bench.speeds import last_speed

        return last_speed(lab_folder(settings.section(LabSettings), os.environ, Path.home()), model)

    @hookimpl
    def mlxp_routes(self, services: Services) -> list[ControllerRouterHandler]:
        """Return the routes, and prepare the server's side of the lab."""
        from mlxp_lab.addresses import shortcuts
        from mlxp_lab.server import lab_of

        self._house, routes = lab_of(services, self.kinds, self.templates)
        shown = any(each.name == "webui" and each.state == "on" for each in services.plugins())
        return [*routes, *(shortcuts() if shown else ())]

    @hookimpl
    def mlxp_started(self) -> None:
        """Look after jobs."""
        if self._house is not None:
            self._house.start()

    @hookimpl
    def mlxp_stopping(self) -> None:
        """Look after jobs no more; they go on."""
        if self._house is not None:
            self._house.stop()

    @hookimpl(optionalhook=True)  # without the web app nobody asks
    def mlxp_webui_pages(self) -> list[Page]:
        """Return the one page, whose sections are jobs and what starts them."""
        from mlxp_webui import Page

        return [
            Page(
                id="lab",
                title="Lab",
                icon="M9 3h6M10 3v6L4 19q-1 2 1 2h14q2 0 1-2L14 9V3M7 15h10",
                folder=Path(__file__).parent / "page",
                module="page.js",
                order=40,
            )
        ]

    def templates(self) -> Templates:
        """Return all templates of datasets that plugins bring."""
        from mlxp_lab.generating.templates import gathered

        return {} if self._manager is None else gathered(self._manager)

    def kinds(self, settings: Settings) -> Kinds:
        """Return all kinds of jobs that plugins bring."""
        from mlxp_lab.jobs.kinds import gathered

        return {} if self._manager is None else gathered(self._manager, settings)
