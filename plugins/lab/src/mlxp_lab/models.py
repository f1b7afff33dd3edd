"""``GET /api/lab/models``: models that jobs can be about, by the names that jobs know them by."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from litestar import get
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_core.contracts import Services
from mlxp_lab.jobs import Site


class LabModel(Struct, frozen=True, kw_only=True):
    """One model: of this server, or made by a job. Further ones go by their folder, or a name that a plugin knows."""

    name: str
    path: str
    origin: Literal["served", "made"]
    size_bytes: int


class LabModels(Struct, frozen=True, kw_only=True):
    """Those of the server first, then those that were made, by name."""

    models: tuple[LabModel, ...]


def listing(services: Services, site: Site) -> HTTPRouteHandler:
    """Return the route."""

    @get("/api/lab/models", summary="List models that jobs can be about", tags=["jobs"], sync_to_thread=True)
    def models() -> LabModels:
        served = [
            LabModel(name=info.id, path=str(info.path), origin="served", size_bytes=info.weight_bytes)
            for info in services.catalogue().models
        ]
        known = {Path(each.path).resolve() for each in served}
        made = [each for each in made_models(site) if Path(each.path).resolve() not in known]
        return LabModels(models=(*served, *made))

    return models


def made_models(site: Site) -> list[LabModel]:
    """Return the models that jobs made and that are whole, by name."""
    folder = site.made_models
    whole = sorted(config.parent for config in folder.glob("[!.]*/config.json"))
    return [
        LabModel(name=path.name, path=str(path), origin="made", size_bytes=_weights(path)) for path in whole
    ]


def _weights(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))
