"""``GET /fit``: how a model fits this machine, and Apple's others."""

import msgspec

from mlxp_core.contracts import Services
from mlxp_core.errors import BadRequest, Unavailable
from mlxp_core.types import WireRequest, WireResponse

_WORDS = {"true": True, "1": True, "false": False, "0": False}


def fit(request: WireRequest, services: Services) -> WireResponse:
    """Say how a model fits.

    The address may ask for a ``model``, for ``batch`` answers of ``context`` tokens each, and with ``skus=false`` for
    this machine alone.

    Raises:
        BadRequest: a number is none, or too small.
        UnknownModel: there is no such model.
        Unavailable: this server does not count memory.
    """
    told = services.fit(
        request.query.get("model", ""),
        rows=_number(request, "batch") or 1,
        context=_number(request, "context"),
        skus=_flag(request, "skus"),
    )
    if told is None:
        raise Unavailable("this server was started without a memory budget and does not say what fits")
    return WireResponse(body=msgspec.json.encode(told))


def _number(request: WireRequest, name: str) -> int | None:
    text = request.query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):  # noqa: PLR2004  # digits
        raise BadRequest(f"{name} must be a whole number from 1 on, not {text!r}", param=name)
    return int(text)


def _flag(request: WireRequest, name: str) -> bool:
    text = request.query.get(name, "true")
    if text not in _WORDS:
        raise BadRequest(f"{name} must be true or false, not {text!r}", param=name)
    return _WORDS[text]
