"""The lab of a running server: opened when somebody asks for it, looked after all along."""

from __future__ import annotations

from threading import Lock

from litestar.handlers import HTTPRouteHandler

from mlxp_core.contracts import Services
from mlxp_lab.datasets.routes import routes as datasets
from mlxp_lab.datasets.shelf import Shelf
from mlxp_lab.generating.cards import listing as templates
from mlxp_lab.generating.templates import AskTemplates
from mlxp_lab.jobs.desk import JobDesk
from mlxp_lab.jobs.house import House
from mlxp_lab.jobs.kinds import Kinds
from mlxp_lab.jobs.routes import routes
from mlxp_lab.jobs.store import Store
from mlxp_lab.jobs.supervisor import Supervisor
from mlxp_lab.lab import AskKinds, Lab, open_lab, site_of
from mlxp_lab.models import listing
from mlxp_lab.quantize.route import inspecting, reporting
from mlxp_lab.training.route import inspecting as inspecting_data


def lab_of(
    services: Services, kinds: AskKinds, ask_templates: AskTemplates
) -> tuple[House, list[HTTPRouteHandler]]:
    """Return what looks after jobs while the server runs, and the routes; makes no lab yet."""
    door = _Door(services, kinds)
    house = House(services, door.site.folder, door.supervisor)
    return house, [
        *routes(door.desk, door.kinds, door.known, house.wake),
        listing(services, door.site),
        inspecting(door.site),
        reporting(door.desk),
        *datasets(Shelf(door.site.datasets)),
        templates(ask_templates),
        inspecting_data(door.site),
    ]


class _Door:
    """Opens the lab once, for whichever thread comes first."""

    def __init__(self, services: Services, kinds: AskKinds) -> None:
        self.site = site_of(services.settings, services.models)
        self._kinds = kinds
        self._lock = Lock()
        self._lab: Lab | None = None

    def known(self) -> bool:
        """Say whether there is a lab."""
        return Store.exists(self.site.folder)

    def kinds(self) -> Kinds:
        """Return the kinds of jobs; needs no lab."""
        return self._kinds(self.site.settings)

    def desk(self) -> JobDesk:
        """Return its desk."""
        return self._open().desk

    def supervisor(self) -> Supervisor:
        """Return what looks after its jobs."""
        return self._open().supervisor

    def _open(self) -> Lab:
        with self._lock:
            if self._lab is None:
                self._lab = open_lab(self.site, self._kinds)
            return self._lab
