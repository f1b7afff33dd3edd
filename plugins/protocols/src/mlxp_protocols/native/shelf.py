"""``POST /v1/models/{id}/load`` and its like: the last part of the path says what to do with a model."""

import uuid
from collections.abc import Mapping

import msgspec

from mlxp_core.contracts import Exchanged
from mlxp_core.errors import NotFound
from mlxp_core.types import ShelfAction, ShelfRequest, Shelved, WireRequest, WireResponse
from mlxp_protocols.native import wire

ACTIONS: Mapping[str, ShelfAction] = {"load": "load", "unload": "unload", "pin": "pin", "unpin": "unpin"}


def decode(request: WireRequest) -> Exchanged[Shelved]:
    """Read which model is meant, whose id may hold slashes, and what to do with it.

    Raises:
        NotFound: the path ends with nothing that can be done.
    """
    model, _, action = request.params["model_id"].removeprefix("/").rpartition("/")
    if action not in ACTIONS or not model:
        raise NotFound(f"there is no POST {request.path}; a model's path ends with /{', /'.join(ACTIONS)}")
    asked = ShelfRequest(id=f"shelf-{uuid.uuid4().hex}", model=model, action=ACTIONS[action])
    return Exchanged(asked, render)


def render(done: Shelved) -> WireResponse:
    """Show how the model is now."""
    state = done.state
    body = wire.ShelvedModel(id=done.model, state=state.state, pinned=state.pinned, loads=state.loads)
    return WireResponse(body=msgspec.json.encode(body))
