"""What this plugin brings: models by name, commands, paths of a server, and a kind of job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlxp_core import hookimpl
from mlxp_core.contracts import SettingsSection
from mlxp_hub.settings import HubSettings

if TYPE_CHECKING:
    import click
    from litestar.types import ControllerRouterHandler

    from mlxp_core.contracts import Appraise, Services, Settings
    from mlxp_core.types import ModelChoice
    from mlxp_hub.refs import Ref
    from mlxp_hub.tracker import Tracked, Tracker
    from mlxp_lab.jobs import JobKind


class HubPlugin:
    """Keeps the downloads of one server.

    Attributes:
        downloads: those in the background; ``None`` before there is a server.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self.downloads: Tracker | None = None

    @hookimpl
    def mlxp_settings_sections(self) -> list[SettingsSection]:
        """Return the one section."""
        return [SettingsSection(name="hub", type=HubSettings, summary="Models of the Hugging Face hub")]

    @hookimpl(trylast=True)
    def mlxp_resolve_model(self, ref: str, settings: Settings) -> Path | None:
        """Return the folder of a downloaded model."""
        from mlxp_hub.resolve import resolve

        return resolve(ref, settings.section(HubSettings))

    @hookimpl
    def mlxp_default_model(self, settings: Settings, appraise: Appraise) -> ModelChoice | None:
        """Return the best downloaded model."""
        from mlxp_hub.resolve import choose

        return choose(settings.section(HubSettings), appraise)

    @hookimpl
    def mlxp_commands(self) -> list[click.Command]:
        """Return the commands."""
        from mlxp_hub.commands import get, models, rm
        from mlxp_hub.push_command import push

        return [get, models, rm, push]

    @hookimpl(optionalhook=True)  # without the lab nobody asks
    def mlxp_lab_jobs(self) -> list[JobKind[Any]]:
        """Return the kind of job that pushes."""
        from mlxp_hub.lab import KIND

        return [KIND]

    @hookimpl
    def mlxp_routes(self, services: Services) -> list[ControllerRouterHandler]:
        """Return the routes."""
        from mlxp_hub.account import routes as account
        from mlxp_hub.routes import Shelves, routes
        from mlxp_hub.tracker import Tracker

        settings, shelves = services.settings.section(HubSettings), Shelves(services)

        def fetch(ref: Ref, tracked: Tracked) -> Path:
            from mlxp_hub.download import Download

            path = Download(ref, settings, tracked, stop=tracked.stop).run()
            shelves.forget()
            return path

        self.downloads = Tracker(fetch)
        return [*routes(self.downloads, shelves), *account(settings)]

    @hookimpl
    def mlxp_stopping(self) -> None:
        """Break downloads off; what has come is kept."""
        if self.downloads is not None:
            self.downloads.stop_all()
