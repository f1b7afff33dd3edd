"""Parameters of a job: from JSON to what its kind takes, and back."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_lab.jobs.kind import JobKind, Site

P = TypeVar("P", bound=Struct)


class BadParameters(BadRequest):
    """What is asked of a job is wrong; says which parameter, and what to do."""

    code = "bad_parameters"


def read_parameters(kind: JobKind[P], given: object) -> P:
    """Return JSON values as the parameters of a kind.

    Raises:
        BadParameters: a parameter is missing, unknown or of the wrong type.
    """
    try:
        return msgspec.convert(given, kind.parameters, strict=True)
    except msgspec.ValidationError as error:
        place = str(error).rpartition("`$.")[2].rstrip("`") if "`$." in str(error) else None
        raise BadParameters(f"parameters of {kind.name!r}: {error}", param=place) from error


def prepared(kind: JobKind[P], parameters: P, site: Site) -> P:
    """Return the parameters as the kind wants them kept.

    Raises:
        BadParameters: the kind refuses them.
        MlxpError: what else the kind found wrong, as a model that is damaged.
    """
    return parameters if kind.prepare is None else kind.prepare(parameters, site)


def kept(parameters: Struct) -> dict[str, Any]:
    """Return parameters as JSON values."""
    told = msgspec.to_builtins(parameters)
    if not isinstance(told, dict):
        raise TypeError(f"{type(parameters).__name__} is no object in JSON")
    return told
