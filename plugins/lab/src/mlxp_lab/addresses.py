"""``GET /quantize``, ``/finetune``, ``/dataset``: wizards by addresses that are remembered and typed."""

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from mlxp_core.contracts import ACCESS

_LEAD = {"/quantize": "quantize", "/finetune": "finetune", "/dataset": "datasets"}


def shortcuts() -> list[HTTPRouteHandler]:
    """Return routes that lead to sections of the page."""
    return [_shortcut(path, section) for path, section in _LEAD.items()]


def _shortcut(path: str, section: str) -> HTTPRouteHandler:
    @get(path, opt={ACCESS: "open"}, include_in_schema=False, sync_to_thread=False)
    def led() -> Redirect:
        return Redirect(path=f"/#/lab/{section}")

    return led
