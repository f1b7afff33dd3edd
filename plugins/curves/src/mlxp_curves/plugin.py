"""What this plugin brings: the sampler stages ``hlg`` and ``curve``, endpoints to try them, and a page to draw them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlxp_core import hookimpl
from mlxp_core.contracts import SamplerStage, WireProtocol
from mlxp_curves.curve import Curve
from mlxp_curves.decode import CurveDecoder
from mlxp_curves.hlg import Hlg
from mlxp_curves.protocol import make_protocol
from mlxp_curves.wire import Recipe

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from mlxp_core.contracts import Services
    from mlxp_core.contracts.sampling import LogitsMap
    from mlxp_webui import Page


def build_hlg(settings: Sequence[Hlg]) -> LogitsMap:
    """Return the map of rows with these settings."""
    from mlxp_curves.modes import shape

    return shape(settings)


def build_curve(settings: Sequence[Curve]) -> LogitsMap:
    """Return the map of rows with these curves."""
    from mlxp_curves.bend import bend

    return bend(settings)


HLG = SamplerStage(
    name="hlg", order=450, params=Hlg, build=build_hlg, replaces=frozenset({"top_p", "top_k", "min_p"})
)

CURVE = SamplerStage(
    name="curve",
    order=480,
    params=Curve,
    build=build_curve,
    replaces=frozenset({"top_p", "top_k", "min_p", "temperature"}),
)


class CurvesPlugin:
    """Knows the running server, to say how it draws where nothing else is asked for."""

    def __init__(self) -> None:
        """Begin before there is a server."""
        self._services: Services | None = None

    @hookimpl
    def mlxp_sampler_stages(self) -> list[SamplerStage]:
        """Return the two stages."""
        return [HLG, CURVE]

    @hookimpl
    def mlxp_protocols(self) -> list[WireProtocol]:
        """Return the one protocol."""
        return [make_protocol(CurveDecoder(lambda: f"curve-{uuid.uuid4().hex}", self._usual))]

    @hookimpl
    def mlxp_routes(self, services: Services) -> list[ControllerRouterHandler]:
        """Return the designer's short address, where there is a web app to show it."""
        if not any(each.name == "webui" and each.state == "on" for each in services.plugins()):
            return []
        from mlxp_curves.route import shortcut

        return [shortcut]

    @hookimpl
    def mlxp_started(self, services: Services) -> None:
        """Keep the server at hand."""
        self._services = services

    @hookimpl(optionalhook=True)  # without the web app nobody asks
    def mlxp_webui_pages(self) -> list[Page]:
        """Return the designer."""
        from mlxp_webui import Page

        return [
            Page(
                id="curves",
                title="Curves",
                icon="M4 4v16h16M7 17c6 0 4-10 12-11",
                folder=Path(__file__).parent / "page",
                module="page.js",
                order=60,
            )
        ]

    def _usual(self, model: str) -> Recipe | None:
        if self._services is None:
            return None
        usual = self._services.catalogue().usual[model]
        return Recipe(temperature=usual.temperature, top_p=usual.top_p, top_k=usual.top_k)
