"""Registry and desk, made into a Litestar application."""

import sys
from collections.abc import Sequence
from typing import Protocol

from litestar import Litestar
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from litestar.types import ControllerRouterHandler

from mlxp_core.contracts import Services, WireProtocol
from mlxp_core.desk import Desk, RegistryFace
from mlxp_core.errors import PluginError
from mlxp_core.server import openapi
from mlxp_core.server.access import Access, Guard
from mlxp_core.server.clerk import Clerk
from mlxp_core.server.cors import cors
from mlxp_core.server.endpoints import handlers
from mlxp_core.server.errors import Shapes, exception_handlers
from mlxp_core.server.lifespan import LifeObservers, living
from mlxp_core.server.records import open_records
from mlxp_core.server.request_id import show_request_id
from mlxp_core.server.unrouted import unrouted
from mlxp_core.types import ServerSettings


class ServerRegistry(RegistryFace, Protocol):
    """What plugins brought, as far as HTTP is concerned."""

    @property
    def observers(self) -> LifeObservers:
        """The observers."""
        ...

    def routes(self, services: Services) -> Sequence[ControllerRouterHandler]:
        """Return the routes that plugins bring themselves."""
        ...


class Application(Litestar):
    """Litestar, which looks at pydantic and attrs only where somebody has."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        """Return what Litestar adds; it imports these two libraries wherever they are installed.

        Who has routes that use one has imported it by now.
        """
        if {"pydantic", "attr"} & sys.modules.keys():
            return Litestar._get_default_plugins(plugins)  # noqa: SLF001  # what is overridden
        return [*plugins, MsgspecDIPlugin()]


def build_app(registry: ServerRegistry, desk: Desk, settings: ServerSettings) -> Litestar:
    """Return the application; its lifespan starts and stops the desk's engine.

    Raises:
        PluginError: two protocols claim one path.
        SetupError: a key, an origin or a folder in the settings cannot work.
    """
    protocols = list(registry.protocols.values())
    _check_paths(protocols)
    guard = Guard(settings)
    records = open_records(settings)
    clerk = Clerk(desk.version, records)
    ours = [handler for protocol in protocols for handler in handlers(protocol, desk, clerk, settings)]
    return Application(
        route_handlers=[*ours, *registry.routes(desk)],
        lifespan=[living(desk, registry.observers, records)],
        middleware=[Access(guard)],
        exception_handlers=unrouted(guard, exception_handlers(Shapes(protocols), settings.body_limit_bytes)),
        before_send=[show_request_id],
        cors_config=cors(settings),
        openapi_config=openapi.config(protocols),
        request_max_body_size=settings.body_limit_bytes,
        logging_config=None,
    )


def _check_paths(protocols: Sequence[WireProtocol]) -> None:
    owners: dict[tuple[str, str], str] = {}
    for protocol in protocols:
        for endpoint in protocol.endpoints:
            key = (endpoint.method, openapi.PARAMETER.sub("{}", endpoint.path))
            if key in owners:
                raise PluginError(
                    f"the protocols {owners[key]!r} and {protocol.name!r} both answer {endpoint.method} "
                    f"{endpoint.path}; switch one off with --disable"
                )
            owners[key] = protocol.name
