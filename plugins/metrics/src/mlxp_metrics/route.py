"""``GET /metrics``. What is counted is copied here; it is written out on another thread."""

import asyncio
from typing import Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler

from mlxp_core.contracts import Services
from mlxp_core.types import EngineStats
from mlxp_metrics.tally import Tally


def route(services: Services, tally: Tally) -> HTTPRouteHandler:
    """Return the route over a running server and what was counted of it."""

    @get("/metrics", media_type="text/plain", summary="Numbers for Prometheus", tags=["metrics"])
    async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
        weights = sum(model.weight_bytes for model in services.catalogue().models)
        accept = request.headers.get("accept", "")
        text, media_type = await asyncio.to_thread(written, tally.copy(), services.stats(), weights, accept)
        return Response(text, media_type=media_type)

    def written(counted: Tally, stats: EngineStats, weights: int, accept: str) -> tuple[bytes, str]:
        from mlxp_metrics.exposition import Scrape, expose  # noqa: PLC0415  # once somebody asks

        scrape = Scrape(tally=counted, stats=stats, version=services.version, weights_bytes=weights)
        return expose(scrape, accept)

    return metrics
