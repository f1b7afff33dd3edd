"""HTTP; the only room that knows Litestar and uvicorn."""

from mlxp_core.server.access import check_exposure
from mlxp_core.server.app import ServerRegistry, build_app
from mlxp_core.server.run import Server, bind, serve

__all__ = ["Server", "ServerRegistry", "bind", "build_app", "check_exposure", "serve"]
