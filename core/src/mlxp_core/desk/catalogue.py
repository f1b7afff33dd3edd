"""The models and adapters on offer, and which of them a request means."""

from collections.abc import Sequence

from mlxp_core.contracts import ToolFormat
from mlxp_core.desk.faces import RegistryFace
from mlxp_core.errors import BadRequest, Unavailable, UnknownModel
from mlxp_core.types import AdapterInfo, Catalogue, ModelInfo


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
    return named(catalogue, name)


def named(catalogue: Catalogue, name: str) -> ModelInfo:
    """Return the model of exactly that id or alias.

    Raises:
        UnknownModel: there is none.
    """
    wanted = catalogue.aliases.get(name, name)
    for model in catalogue.models:
        if model.id == wanted:
            return model
    offered = ", ".join([*(model.id for model in catalogue.models), *catalogue.aliases])
    raise UnknownModel(f"no model {name!r} is on offer; there are: {offered or 'none'}", param="model")


def adapters_of(
    catalogue: Catalogue, wanted: Sequence[str] | None, usual: Sequence[str], model: ModelInfo
) -> tuple[AdapterInfo, ...]:
    """Return the adapters that a request means.

    Args:
        catalogue: what is on offer.
        wanted: ids that the request names; ``None`` = it says nothing.
        usual: ids for requests that say nothing; those on other models do not count.
        model: the model that will answer.

    Raises:
        BadRequest: one is not mounted, is mounted on another model, or is named twice.
    """
    mounted = {adapter.id: adapter for adapter in catalogue.adapters}
    names = usual if wanted is None else wanted
    for name in names:
        if name not in mounted:
            there = ", ".join(mounted) or "none"
            raise BadRequest(f"unknown adapter {name!r}; mounted: {there}", param="adapters")
        if names.count(name) > 1:
            raise BadRequest(f"adapter {name!r} is named twice; name it once", param="adapters")
    found = tuple(mounted[name] for name in names)
    if wanted is None:
        return tuple(adapter for adapter in found if adapter.model == model.id)
    for adapter in found:
        if adapter.model != model.id:
            raise BadRequest(
                f"adapter {adapter.id!r} is mounted on {adapter.model}, not on {model.id}", param="adapters"
            )
    return found


def mounts_of(catalogue: Catalogue, names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the mounts that ids mean at this moment.

    Raises:
        BadRequest: one has been unmounted since the request came.
    """
    mounted = {adapter.id: adapter.key for adapter in catalogue.adapters}
    for name in names:
        if name not in mounted:
            raise BadRequest(
                f"adapter {name!r} was unmounted while the request was prepared", param="adapters"
            )
    return tuple(mounted[name] for name in names)


def tool_format(model: ModelInfo, registry: RegistryFace) -> ToolFormat | None:
    """Return how a model writes tool calls; ``None`` = it writes none."""
    family = registry.families.get(model.family)
    name = family.tool_format if family is not None else None
    return registry.tool_formats.get(name) if name is not None else None
