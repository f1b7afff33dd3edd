"""The lab of one process: its store, its desk, and what looks after its jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from mlxp_core.contracts import Models, Settings
from mlxp_core.types import PluginSettings
from mlxp_lab.jobs.desk import JobDesk
from mlxp_lab.jobs.kind import Site
from mlxp_lab.jobs.kinds import Kinds
from mlxp_lab.jobs.retention import Retention
from mlxp_lab.jobs.store import Store
from mlxp_lab.jobs.supervisor import Supervisor
from mlxp_lab.settings import LabSettings, lab_folder

AskKinds = Callable[[Settings], Kinds]
"""Asks plugins what they bring."""


class Lab(Struct, frozen=True, eq=False):
    """A lab that is open."""

    desk: JobDesk
    supervisor: Supervisor


def site_of(settings: Settings, models: Models) -> Site:
    """Return where jobs are at home; nothing is made."""
    folder = lab_folder(settings.section(LabSettings), os.environ, Path.home())
    return Site(folder=folder, settings=settings, models=models)


def open_lab(site: Site, kinds: AskKinds) -> Lab:
    """Open the lab, and make it if it is not there.

    Raises:
        SetupError: its database cannot be used.
    """
    settings = site.settings.section(LabSettings)
    store = Store(site.folder)
    desk = JobDesk(
        store,
        site,
        lambda: kinds(site.settings),
        chat=settings.chat,
        retention=Retention(settings.keep_days, settings.keep_jobs),
    )
    environment = environment_of(site, os.environ)
    supervisor = Supervisor(store, environment, cpu_jobs=settings.cpu_jobs, grace_s=settings.grace_s)
    return Lab(desk, supervisor)


def environment_of(site: Site, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which a job has the lab, the settings file and the plugins that this process has."""
    settings = site.settings
    plugins = settings.section(PluginSettings)
    told = {
        "MLXP_LAB_FOLDER": str(site.folder),
        "MLXP_CONFIG": "" if settings.path is None else str(settings.path.resolve()),
        "MLXP_PLUGINS": "",
        "MLXP_PLUGINS_ONLY": ",".join(plugins.only),
        "MLXP_PLUGINS_DISABLE": ",".join(plugins.disable),
    }
    return {**environ, **told}
