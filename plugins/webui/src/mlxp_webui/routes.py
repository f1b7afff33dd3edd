"""The app at ``/``, its files and those of pages under ``/webui/``. Files are open; what they ask for takes the key."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler
from msgspec import Struct

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import NotFound
from mlxp_webui.files import ASK_AGAIN, FOREVER, response
from mlxp_webui.page import Page

STATIC = Path(__file__).parent / "static"
HASHED = "assets/"
"""Names of files below it change with their content."""

AnyRequest = Request[Any, Any, Any]


class Listed(Struct, frozen=True):
    """A page as the app's navigation needs it; ``module`` is its address."""

    id: str
    title: str
    icon: str
    order: int
    module: str


def routes(pages: Sequence[Page], static: Path = STATIC) -> list[ControllerRouterHandler]:
    """Return every route of the app.

    Args:
        pages: of other plugins, in order.
        static: the folder that the app was built into.
    """
    folders = {page.id: page.folder for page in pages}
    listed = [
        Listed(page.id, page.title, page.icon, page.order, f"/webui/pages/{page.id}/{page.module}")
        for page in pages
    ]
    opened = {ACCESS: "open"}

    @get("/", opt=opened, include_in_schema=False, sync_to_thread=True)
    def index(request: AnyRequest) -> Response[bytes]:
        return response(static, "index.html", keep=ASK_AGAIN, asked=dict(request.headers))

    @get("/webui/{name:path}", opt=opened, include_in_schema=False, sync_to_thread=True)
    def own(request: AnyRequest) -> Response[bytes]:
        name = str(request.path_params["name"])
        keep = FOREVER if name.lstrip("/").startswith(HASHED) else ASK_AGAIN
        return response(static, name, keep=keep, asked=dict(request.headers))

    @get("/webui/pages", include_in_schema=False)
    async def navigation() -> list[Listed]:
        return listed

    @get("/webui/pages/{page:str}/{name:path}", opt=opened, include_in_schema=False, sync_to_thread=True)
    def theirs(request: AnyRequest) -> Response[bytes]:
        page = str(request.path_params["page"])
        if page not in folders:
            raise NotFound(f"no plugin brings a page {page!r}")
        return response(
            folders[page], str(request.path_params["name"]), keep=ASK_AGAIN, asked=dict(request.headers)
        )

    return [index, own, navigation, theirs]
