"""What a fusion takes, and what is wrong with it before anything is computed."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from mlxp_lab.adapting.places import find_adapter, weights_of
from mlxp_lab.jobs import Site
from mlxp_lab.outputs import output_place
from mlxp_lab.quantize.parameters import appraised


class FuseParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fusion.

    Attributes:
        model: a folder, or a name that a plugin knows.
        adapters: names among the lab's adapters, or folders; what they add is added up.
        weights: how much each counts; absent = 1 each.
        output: a folder, or a name among the lab's models; absent = after model and adapters.
        replace: whether a folder that is there may be replaced.
        unpack: whether changed modules of a packed model become plain, rather than be packed again as they were.
        dtype: of changed modules that are plain; ``stored`` = as the model's others.
        shard_bytes: most bytes of one weight file.
    """

    model: str
    adapters: Annotated[tuple[str, ...], Meta(min_length=1)]
    weights: tuple[float, ...] | None = None
    output: str | None = None
    replace: bool = False
    unpack: bool = False
    dtype: Literal["stored", "float32", "bfloat16", "float16"] = "stored"
    shard_bytes: Annotated[int, Meta(ge=1000)] = 5 * 10**9


def prepare(parameters: FuseParameters, site: Site) -> FuseParameters:
    """Check, and fill in the places.

    Raises:
        BadParameters: says which parameter, and what to do.
    """
    told, source = appraised(parameters.model, site)
    found = [find_adapter(ref, site).path for ref in parameters.adapters]
    name = parameters.output or "-".join([told.name.rpartition("/")[2], *(path.name for path in found)])
    reads = (source, *found)
    place = output_place(name, site.made_models, site, replace=parameters.replace, reads=reads)
    return replace(
        parameters,
        model=str(source),
        adapters=tuple(map(str, found)),
        weights=weights_of(parameters.weights, parameters.adapters),
        output=str(place),
    )
