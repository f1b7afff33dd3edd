"""``GET /curves``: the designer's address as it is remembered and typed."""

from litestar import get
from litestar.response import Redirect

from mlxp_core.contracts import ACCESS


@get("/curves", opt={ACCESS: "open"}, include_in_schema=False, sync_to_thread=False)
def shortcut() -> Redirect:
    """Lead to the page in the web app."""
    return Redirect(path="/#/curves")
