"""A JSON body into a checked struct, or an error that names the field at fault."""

from typing import TypeVar

import msgspec
from msgspec import Struct

from mlxp_core.errors import BadRequest

Shape = TypeVar("Shape", bound=Struct)


def read(body: bytes, shape: type[Shape]) -> tuple[Shape, tuple[str, ...]]:
    """Return the body, and the names of the fields in it that nobody knows.

    Raises:
        BadRequest: it is no JSON object, or a field has a wrong type or range.
    """
    try:
        given = msgspec.json.decode(body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f'the body must be a JSON object, such as {{"prompt": "Hello"}}: {error}') from error
    try:
        told = msgspec.convert(given, shape)
    except msgspec.ValidationError as error:
        what, _, path = str(error).rpartition(" - at ")
        place = path.strip("`").removeprefix("$.") or None
        said = (what or str(error)).replace("`", "")
        raise BadRequest(f"{place}: {said}" if place else said, param=place) from error
    known = {field.encode_name for field in msgspec.structs.fields(shape)}
    return told, tuple(name for name in given if name not in known)
