"""What this plugin brings: the routes of the app, and a hook for pages of other plugins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from mlxp_core import hookimpl
from mlxp_webui import hookspecs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pluggy
    from litestar.types import ControllerRouterHandler

    from mlxp_core.contracts import Services, Settings
    from mlxp_webui.collect import Ask


class WebUI:
    """Keeps the manager, to ask for pages when the application is built."""

    def __init__(self) -> None:
        """Know nobody yet."""
        self._manager: pluggy.PluginManager | None = None

    @hookimpl
    def mlxp_add_hookspecs(self, manager: pluggy.PluginManager) -> None:
        """Declare ``mlxp_webui_pages``."""
        manager.add_hookspecs(hookspecs)
        self._manager = manager

    @hookimpl
    def mlxp_routes(self, services: Services) -> list[ControllerRouterHandler]:
        """Return the app's files, and those of every page."""
        from mlxp_webui.collect import collect
        from mlxp_webui.routes import routes

        return routes(collect(self._asks(services.settings)))

    def _asks(self, settings: Settings) -> Iterator[tuple[str, Ask]]:
        """Yield each plugin that brings pages, and what to call for them."""
        if self._manager is None:
            return
        for each in self._manager.hook.mlxp_webui_pages.get_hookimpls():
            given = {"settings": settings} if "settings" in each.argnames else {}
            yield each.plugin_name, cast("Ask", partial(each.function, **given))
