"""``/api/hub/account``: whether the hub knows us, and the token, kept where every program of the hub's looks for it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_core.contracts import ACCESS
from mlxp_core.errors import BadRequest, SetupError
from mlxp_hub.settings import HubSettings

ADMIN = {ACCESS: "admin"}

_BEFORE = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""What the hub's library reads before the file of the token."""


class Account(Struct, frozen=True, kw_only=True):
    """Whether a token is known; it is never told. ``name``: whose it is, where that has just been asked."""

    known: bool
    endpoint: str
    name: str | None = None


class TokenRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to keep."""

    token: str


def routes(settings: HubSettings) -> list[HTTPRouteHandler]:
    """Return the routes."""

    @get("/api/hub/account", summary="Is a token of the hub known?", tags=["hub"], sync_to_thread=True)
    def account() -> Account:
        return _account(settings)

    @post("/api/hub/account", status_code=200, summary="Keep a token of the hub", tags=["hub"], opt=ADMIN)
    async def kept(request: Request[Any, Any, Any]) -> Account:
        try:
            asked = msgspec.json.decode(await request.body(), type=TokenRequest)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise BadRequest(f'the body must be as {{"token": "hf_..."}}: {error}') from error
        return await asyncio.to_thread(_kept, asked.token.strip(), settings)

    return [account, kept]


def _account(settings: HubSettings, name: str | None = None) -> Account:
    from huggingface_hub import constants, get_token  # noqa: PLC0415  # a start should not wait for it

    endpoint = (settings.endpoint or constants.ENDPOINT).rstrip("/")
    return Account(known=bool(settings.token or get_token()), endpoint=endpoint, name=name)


def _kept(token: str, settings: HubSettings) -> Account:
    from huggingface_hub import constants  # noqa: PLC0415  # as above

    from mlxp_hub.sending import who  # noqa: PLC0415  # as above

    if not (token.isascii() and token.isprintable() and token):
        raise BadRequest("a token is a word of letters and digits, as hf_...", param="token")
    if settings.token or any(map(os.environ.get, _BEFORE)):
        raise BadRequest(
            f"[hub] token or {' or '.join(_BEFORE)} is set, and goes before what is kept; change it there",
            param="token",
        )
    try:
        name = who(token, settings)
    except SetupError as error:
        raise BadRequest(error.message, param="token") from error
    keep(token, Path(constants.HF_TOKEN_PATH))
    return _account(settings, name)


def keep(token: str, path: Path) -> None:
    """Put a token into its file, which nobody else may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".token.")  # of mode 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(token)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
