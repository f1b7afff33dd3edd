"""A JSON body into a checked struct, or an error that names the field at fault."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, inspect

from mlxp_core.contracts import RequestField
from mlxp_core.errors import BadRequest
from mlxp_protocols.manifest import refuse, unknown_fields

Shape = TypeVar("Shape", bound=Struct)

_MISSING = re.compile(r"Object missing required field `(?P<field>.*)`")
_INDEX = re.compile(r"\[\d+\]")


class BodyReader(Generic[Shape]):
    """Reads the bodies of one endpoint.

    Args:
        shape: what a body is read as.
        fields: the protocol's manifest.
        hints: what to do about a fault, by path with indices left out (``messages[].role``).
    """

    def __init__(self, shape: type[Shape], fields: Sequence[RequestField], hints: Mapping[str, str]) -> None:
        self._fields = tuple(fields)
        self._hints = dict(hints)
        self._shape = shape
        self._decoder = msgspec.json.Decoder(shape)

    @cached_property
    def _info(self) -> inspect.Type:
        return inspect.type_info(self._shape)

    def read(self, body: bytes) -> tuple[Shape, tuple[str, ...]]:
        """Return the body, and the paths of the fields in it that nobody knows.

        Raises:
            BadRequest: it is no JSON object, asks for a refused field, or a field has a wrong type or range.
        """
        given = _json_object(body)
        refuse(given, self._fields)
        try:
            read = self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise _explain(error, self._hints) from error
        return read, unknown_fields(given, self._info, self._fields)


def read_value(raw: msgspec.Raw, shape: type[Shape], place: str) -> Shape:
    """Return a part of a body that was left unread, read as ``shape``.

    Args:
        raw: its JSON.
        shape: what it is read as.
        place: its path in the body.

    Raises:
        BadRequest: it does not have that shape.
    """
    try:
        return msgspec.json.decode(raw, type=shape)
    except msgspec.ValidationError as error:
        raise _explain(error, {}, place) from error


def _explain(error: msgspec.ValidationError, hints: Mapping[str, str], place: str = "") -> BadRequest:
    """Turn msgspec's report into ours: the path becomes ``param``, and a hint follows where there is one."""
    what, _, path = str(error).rpartition(" - at ")
    if not what:
        what, path = path, ""
    inner = path.removeprefix("`key` in ").strip("`").removeprefix("$").removeprefix(".")
    missing = _MISSING.fullmatch(what)
    param = ".".join(filter(None, (place, inner, missing and missing["field"])))
    told = "is missing" if missing else _plain(what)
    if param:
        told = f"{param}: {told}"
    hint = hints.get(_INDEX.sub("[]", param))
    return BadRequest(f"{told}; {hint}" if hint else told, param=param or None)


def _plain(what: str) -> str:
    return what[0].lower() + what[1:].replace("`", "").replace(" | null", "")


def _json_object(body: bytes) -> dict[str, object]:
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not valid JSON: {error}") from error
    except RecursionError as error:
        raise BadRequest("the body is nested too deeply; send flatter JSON") from error
    if not isinstance(given, dict):
        raise BadRequest("the body must be a JSON object, such as {...}")
    return given
