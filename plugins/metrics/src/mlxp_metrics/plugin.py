"""What this plugin brings: ``GET /metrics``, and an observer that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlxp_core import hookimpl
from mlxp_metrics.tally import Tally

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from mlxp_core.contracts import Services
    from mlxp_core.types import RequestRecord


class MetricsPlugin:
    """Counts what finishes, for as long as the server lives."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._tally = Tally()

    @hookimpl
    def mlxp_request_finished(self, record: RequestRecord) -> None:
        """Count it."""
        self._tally.add(record)

    @hookimpl
    def mlxp_routes(self, services: Services) -> list[ControllerRouterHandler]:
        """Return the one route."""
        from mlxp_metrics.route import route

        return [route(services, self._tally)]
