"""Requests about adapters into questions, and their answers into JSON."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from mlxp_core.contracts import Exchanged, RequestField, Services
from mlxp_core.types import (
    AdaptersFound,
    FindAdapters,
    Mounted,
    MountRequest,
    Unmounted,
    UnmountRequest,
    WireRequest,
    WireResponse,
)
from mlxp_protocols.adapters import wire
from mlxp_protocols.body import BodyReader

FIELDS = (
    RequestField("id", "honoured", "what requests will call the adapter"),
    RequestField("path", "honoured", "its folder, in one of the server's adapter roots"),
    RequestField("model", "honoured", "absent: the default model"),
)

_NAMES = {"adapter": "id"}
"""Field of a question -> what this surface calls it, where that differs."""

_HINTS = {
    "id": "say what requests will call the adapter",
    "path": "name the adapter's folder, as GET /v1/adapters/available lists it",
}


class AdapterDecoder:
    """Reads requests about adapters; ``new_id`` makes the ids of questions."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._mount = BodyReader(wire.MountBody, FIELDS, _HINTS)

    def mount(self, request: WireRequest) -> Exchanged[Mounted]:
        """Read a request to mount an adapter.

        Raises:
            BadRequest: anything wrong with the body; ``param`` names the field.
        """
        body, warnings = self._mount.read(request.body)
        asked = MountRequest(id=self._new_id(), model=body.model or "", adapter=body.id, path=body.path)
        return Exchanged(asked, write_mounted, warnings, _NAMES)

    def unmount(self, request: WireRequest) -> Exchanged[Unmounted]:
        """Read a request to unmount an adapter, which the path names."""
        name = request.params["adapter_id"]
        return Exchanged(
            UnmountRequest(id=self._new_id(), model="", adapter=name), write_unmounted, names=_NAMES
        )

    def available(self, request: WireRequest) -> Exchanged[AdaptersFound]:
        """Read a request for the adapters on disk; ``?model=`` asks for those of another than the default model."""
        asked = FindAdapters(id=self._new_id(), model=request.query.get("model", ""))
        return Exchanged(asked, write_available)


def mounted(_request: WireRequest, services: Services) -> WireResponse:
    """List the adapters that are mounted."""
    cards = (
        wire.AdapterCard(
            id=adapter.id,
            path=str(adapter.path),
            model=adapter.model,
            rank=adapter.rank,
            scale=adapter.scale,
            size_bytes=adapter.size_bytes,
            mounted_layers=adapter.modules,
            base_model=adapter.base_model,
            warnings=adapter.warnings,
        )
        for adapter in services.catalogue().adapters
    )
    return _json(wire.AdapterList(adapters=tuple(cards)))


def write_mounted(answer: Mounted) -> WireResponse:
    """Write what came of mounting an adapter."""
    adapter = answer.adapter
    return _json(
        wire.MountedAdapter(
            id=adapter.id,
            model=adapter.model,
            mounted_layers=adapter.modules,
            rank=adapter.rank,
            scale=adapter.scale,
            unused=adapter.unused,
            warnings=adapter.warnings,
        )
    )


def write_unmounted(answer: Unmounted) -> WireResponse:
    """Write which adapter has gone."""
    return _json(wire.RemovedAdapter(id=answer.adapter.id, removed_layers=answer.adapter.modules))


def write_available(answer: AdaptersFound) -> WireResponse:
    """Write the adapters on disk."""
    found = (
        wire.AvailableAdapter(
            id=adapter.id,
            path=str(adapter.path),
            rank=adapter.rank,
            scale=adapter.scale,
            base_model=adapter.base_model,
            mounted=adapter.mounted,
        )
        for adapter in answer.adapters
    )
    return _json(wire.AvailableList(adapters=tuple(found)))


def _json(body: Struct) -> WireResponse:
    return WireResponse(body=msgspec.json.encode(body))
