"""The models on offer, and which of them a request means."""

from mlxp_core.errors import BadRequest, Unavailable, UnknownModel
from mlxp_core.types import Catalogue, ModelInfo


def choose(catalogue: Catalogue, name: str) -> ModelInfo:
    """Return the model that ``name`` means.

    A server with one model answers whatever name is asked for, as clients have names of their own built in. With
    several, the name must be one of theirs or an alias; no name means the first.

    Raises:
        UnknownModel: there are several, and this is none of them.
        Unavailable: there is none at all.
    """
    models = catalogue.models
    if not models:
        raise Unavailable("no model is on offer; start the server with one")
    if len(models) == 1 or not name:
        return models[0]
    wanted = catalogue.aliases.get(name, name)
    for model in models:
        if model.id == wanted:
            return model
    offered = ", ".join([*(model.id for model in models), *catalogue.aliases])
    raise UnknownModel(f"no model {name!r} is on offer; there are: {offered}", param="model")


def check_adapters(catalogue: Catalogue, wanted: tuple[str, ...]) -> None:
    """Refuse adapters that are not mounted.

    Raises:
        BadRequest: names the adapter and those that are mounted.
    """
    mounted = [adapter.id for adapter in catalogue.adapters]
    for name in wanted:
        if name not in mounted:
            there = ", ".join(mounted) or "none"
            raise BadRequest(f"unknown adapter {name!r}; mounted: {there}", param="adapters")
