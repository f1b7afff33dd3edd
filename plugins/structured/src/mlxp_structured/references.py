"""Following the references of a schema."""

from collections.abc import Mapping
from typing import Any

from mlxp_core.errors import BadRequest


def followed(reference: str, root: Mapping[str, Any]) -> Any:
    """Return what a reference within ``root`` leads to.

    Raises:
        BadRequest: it leads out of the schema, or to nothing.
    """
    place: Any = root
    if not reference.startswith("#"):
        raise BadRequest(f"the reference {reference!r} leads out of the schema; put what it means into $defs")
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and name.isdecimal() and int(name) < len(place):
            place = place[int(name)]
        elif isinstance(place, Mapping) and name in place:
            place = place[name]
        else:
            raise BadRequest(f"the reference {reference!r} leads to nothing")
    return place
