"""``GET /metrics``. What is counted is copied here; it is written out on another thread."""

import asyncio
from typing import Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler

from mlxp_core.contracts import Services
from mlxp_metrics.exposition import Scrape, expose
from mlxp_metrics.tally import Tally


def route(services: Services, tally: Tally) -> HTTPRouteHandler:
    """Return the route over a running server and what was counted of it."""

    @get("/metrics", media_type="text/plain", summary="Numbers for Prometheus", tags=["metrics"])
    async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
        scrape = Scrape(
            tally=tally.copy(),
            stats=services.stats(),
            version=services.version,
            weights_bytes=sum(model.weight_bytes for model in services.catalogue().models),
        )
        text, media_type = await asyncio.to_thread(expose, scrape, request.headers.get("accept", ""))
        return Response(text, media_type=media_type)

    return metrics
