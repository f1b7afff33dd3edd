"""``/library`` and ``/downloads``. What reads the disk runs on another thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from litestar import Request, delete, get, post
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_core.contracts import ACCESS, Services
from mlxp_core.errors import BadRequest, NotFound, SetupError
from mlxp_core.types import Appraisal
from mlxp_hub.library import Downloaded, current, downloaded
from mlxp_hub.refs import MAIN, Ref, required
from mlxp_hub.settings import HubSettings, cache_folder
from mlxp_hub.tracker import DownloadCard, Tracker

FRESH_S = 30.0
"""How long what was seen on the disk is believed."""

MOST_KNOWN = 2000
"""Appraisals that are remembered."""


class Assessment(Struct, frozen=True, kw_only=True):
    """How a model fits this machine with one answer of ``context_tokens``.

    Attributes:
        context_tokens: as asked for, but no more than the model reads; a usual number where none was asked for.
        weights_bytes, kv_bytes, transient_bytes: what makes up the total.
        usable_bytes: what there is for models.
    """

    fits: bool
    context_tokens: int
    max_safe_context: int
    weights_bytes: int
    kv_bytes: int
    transient_bytes: int
    total_bytes: int
    usable_bytes: int
    predicted_decode_tps: float | None


class LibraryModel(Struct, frozen=True, kw_only=True):
    """One downloaded model.

    Attributes:
        family: who serves it.
        context: longest sequence in tokens; 0 = not known.
        group_size: of quantized weights, as ``quant_bits``.
        supported: whether a plugin can serve it; ``fault`` says why not.
        serving: whether this server offers it.
        assessment: null where it is not known.
    """

    repo_id: str
    model_type: str
    family: str | None
    context: int
    size_bytes: int
    quant_bits: int | None
    group_size: int | None
    vision: bool
    supported: bool
    fault: str | None
    serving: bool
    assessment: Assessment | None


class Library(Struct, frozen=True, kw_only=True):
    """Every downloaded model, in its current revision."""

    models: tuple[LibraryModel, ...]


class Downloads(Struct, frozen=True, kw_only=True):
    """The newest downloads of this server, newest first."""

    downloads: tuple[DownloadCard, ...]


class DownloadRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which model to fetch."""

    repo_id: str
    revision: str = MAIN


class Shelves:
    """What is on disk, as of the last look; may be asked from any thread."""

    def __init__(self, services: Services, clock: Callable[[], float] = time.monotonic) -> None:
        """Look at nothing yet; ``clock`` returns seconds that only grow."""
        self._services = services
        self._cache = cache_folder(services.settings.section(HubSettings))
        self._clock = clock
        self._lock = Lock()
        self._looked_s: float | None = None
        self._models: list[Downloaded] = []
        self._known: dict[tuple[Path, int | None], Appraisal] = {}

    def library(self, context: int | None = None) -> Library:
        """Return the library; looks at the disk if the last look is too long ago.

        Args:
            context: tokens that the models should have room for; ``None`` = a usual number.
        """
        with self._lock:
            now_s = self._clock()
            if self._looked_s is None or now_s - self._looked_s >= FRESH_S:
                self._models = [model for model in current(downloaded(self._cache)) if not model.drafter]
                self._looked_s = now_s
            found = self._appraised(context)
        offered = {model.path.resolve() for model in self._services.catalogue().models}
        return Library(models=tuple(_shown(model, told, offered) for model, told in found))

    def forget(self) -> None:
        """Look again the next time."""
        with self._lock:
            self._looked_s = None

    def _appraised(self, context: int | None) -> list[tuple[Downloaded, Appraisal]]:
        """Say what can be said of each model; a revision never changes, so it is asked once for each context."""
        paths = {model.path for model in self._models}
        kept = {key: told for key, told in self._known.items() if key[0] in paths}
        if len(kept) > MOST_KNOWN:
            kept.clear()
        for model in self._models:
            key = (model.path, context)
            if key not in kept:
                kept[key] = self._services.appraise(model.path, context)
        self._known = kept
        return [(model, kept[model.path, context]) for model in self._models]


def routes(tracker: Tracker, shelves: Shelves) -> list[HTTPRouteHandler]:
    """Return the routes over what is on disk and what is coming."""

    @get("/library", summary="List the downloaded models", tags=["hub"], sync_to_thread=True)
    def library(request: Request[Any, Any, Any]) -> Library:
        return shelves.library(_context(request.query_params.get("context")))

    @get("/downloads", summary="Show the downloads", tags=["hub"], sync_to_thread=False)
    def downloads() -> Downloads:
        return Downloads(downloads=tracker.cards())

    @post(
        "/downloads",
        status_code=202,
        summary="Download a model",
        tags=["hub"],
        opt={ACCESS: "admin"},
    )
    async def download(request: Request[Any, Any, Any]) -> DownloadCard:
        asked = _asked(await request.body())
        return tracker.start(asked)

    @delete(
        "/downloads/{repo_id:path}",
        status_code=200,
        summary="Stop a download",
        tags=["hub"],
        opt={ACCESS: "admin"},
        sync_to_thread=False,
    )
    def stop(request: Request[Any, Any, Any]) -> Downloads:
        repo = str(request.path_params["repo_id"]).removeprefix("/")
        if not tracker.cancel(repo):
            raise NotFound(f"no download of {repo!r} is under way", param="repo_id")
        return Downloads(downloads=tracker.cards())

    return [library, downloads, download, stop]


def _context(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):  # noqa: PLR2004  # digits
        raise BadRequest(f"context must be a whole number of tokens from 1 on, not {text!r}", param="context")
    return int(text)


def _asked(body: bytes) -> Ref:
    try:
        asked = msgspec.json.decode(body, type=DownloadRequest)
    except msgspec.MsgspecError as error:
        raise BadRequest(f'the body must say which model, as {{"repoId": "owner/name"}}: {error}') from error
    try:
        ref = required(asked.repo_id)
    except SetupError as error:
        raise BadRequest(error.message, param="repoId") from error
    return ref if asked.revision == MAIN else Ref(ref.repo, asked.revision)


def _shown(model: Downloaded, told: Appraisal, offered: set[Path]) -> LibraryModel:
    fit = told.fit
    return LibraryModel(
        repo_id=model.repo,
        model_type=model.model_type,
        size_bytes=model.size_bytes,
        family=told.family,
        context=told.context,
        quant_bits=model.bits,
        group_size=model.group_size,
        vision=told.vision,
        supported=told.family is not None,
        fault=told.fault,
        serving=model.path.resolve() in offered,
        assessment=None
        if fit is None
        else Assessment(
            fits=fit.fits,
            context_tokens=fit.context_tokens,
            max_safe_context=fit.max_safe_context,
            weights_bytes=fit.weights_bytes,
            kv_bytes=fit.kv_bytes,
            transient_bytes=fit.transient_bytes,
            total_bytes=fit.total_bytes,
            usable_bytes=fit.usable_bytes,
            predicted_decode_tps=fit.predicted_decode_tps,
        ),
    )
