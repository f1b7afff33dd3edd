"""What a merger takes, and what is wrong with it before anything is computed."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from mlxp_lab.adapting.places import find_adapter, weights_of
from mlxp_lab.jobs import Site
from mlxp_lab.outputs import output_place
from mlxp_lab.quantize.parameters import appraised


class MergeParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A merger.

    Attributes:
        adapters: names among the lab's adapters, or folders; what they add is added up, exactly.
        weights: how much each counts; absent = 1 each.
        output: a name among the adapters, or a folder.
        replace: whether a folder that is there may be replaced.
        format: of the files: of MLX's trainers, or of PEFT.
        model: what they were learned on, a folder or a name that a plugin knows: tells whether its text network is a
            part of a whole model, which PEFT's names of modules say; absent = as the adapters' own names say.
    """

    adapters: Annotated[tuple[str, ...], Meta(min_length=1)]
    output: str
    weights: tuple[float, ...] | None = None
    replace: bool = False
    format: Literal["mlx", "peft"] = "mlx"
    model: str | None = None


def prepare(parameters: MergeParameters, site: Site) -> MergeParameters:
    """Check, and fill in the places.

    Raises:
        BadParameters: says which parameter, and what to do.
    """
    found = [find_adapter(ref, site).path for ref in parameters.adapters]
    place = output_place(parameters.output, site.adapters, site, replace=parameters.replace, reads=found)
    model = None if parameters.model is None else str(appraised(parameters.model, site)[1])
    return replace(
        parameters,
        model=model,
        adapters=tuple(map(str, found)),
        weights=weights_of(parameters.weights, parameters.adapters),
        output=str(place),
    )
