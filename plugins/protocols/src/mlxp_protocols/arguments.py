"""Arguments of past calls, however clients spell them, as JSON text."""

import msgspec
from msgspec import Raw

from mlxp_core.errors import BadRequest


def json_text(arguments: Raw, place: str) -> str:
    """Return the arguments as JSON text: out of their string, or as the object was spelled; empty means none.

    Args:
        arguments: a string of JSON, an object, or null.
        place: path of the field, for the error.

    Raises:
        BadRequest: they are anything else.
    """
    spelled = bytes(arguments)
    match spelled[:1]:
        case b'"':
            return msgspec.json.decode(spelled, type=str).strip() or "{}"
        case b"{":
            return spelled.decode()
        case b"n":
            return "{}"
        case _:
            raise BadRequest(f"{place}: expected a string of JSON, or an object", param=place)
