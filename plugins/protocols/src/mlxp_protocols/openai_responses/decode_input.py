"""The input of a request: its items, references put in place, and the conversation that they make."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw, Struct

from mlxp_core.errors import BadRequest
from mlxp_core.types import Message, Text
from mlxp_protocols.openai_responses import wire_items
from mlxp_protocols.openai_responses.decode_items import converse, read_item
from mlxp_protocols.openai_responses.errors import UnknownPrevious
from mlxp_protocols.openai_responses.store import ResponseStore, Turn
from mlxp_protocols.openai_responses.wire import CountRequest, ResponsesRequest


class Input(Struct, frozen=True):
    """What is to be answered.

    Attributes:
        messages: the whole conversation.
        items: what is new of it, as JSON.
        previous: the turn that it goes on from.
        ignored: what has no effect.
    """

    messages: tuple[Message, ...]
    items: tuple[Raw, ...]
    previous: Turn | None
    ignored: tuple[str, ...]


def read_input(body: ResponsesRequest | CountRequest, store: ResponseStore) -> Input:
    """Return the conversation. Instructions lead it, and those of earlier turns are no part of it.

    Args:
        body: the request.
        store: where earlier turns and their items are.

    Raises:
        UnknownPrevious: it goes on from a response that is not kept.
        BadRequest: there is nothing to answer, or an item is at fault.
    """
    previous = _previous(body.previous_response_id, store)
    if body.input is None and previous is None:
        raise BadRequest(
            'input: is missing; send a string, or a list of items such as {"role": "user", "content": "hello"}',
            param="input",
        )
    ignored: dict[str, None] = {}
    items: list[Raw] = []
    read: list[tuple[wire_items.Item, str]] = list(_behind(previous))
    for at, raw in enumerate(_raw_items(body.input)):
        place = f"input[{at}]"
        item, meant = _resolved(raw, place, store, ignored)
        if item is not None:
            read.append((item, place))
        if meant is not None:
            items.append(meant.copy())
    messages = (*_instructions(body.instructions), *converse(read))
    if not messages:
        raise BadRequest("input: holds nothing to answer; send a message", param="input")
    return Input(messages, tuple(items), previous, tuple(ignored))


def _previous(turn_id: str | None, store: ResponseStore) -> Turn | None:
    if turn_id is None:
        return None
    turn = store.get(turn_id)
    if turn is None:
        raise UnknownPrevious(
            f"previous_response_id: no response {turn_id!r} is kept here; it expired, was deleted, or was made "
            "with store: false. Send the whole conversation as input",
            param="previous_response_id",
        )
    return turn


def _instructions(words: str | None) -> Iterable[Message]:
    return (Message("system", (Text(words),)),) if words else ()


def _raw_items(given: str | list[Raw] | None) -> Sequence[Raw]:
    match given:
        case None | "":
            return ()
        case str():
            return (Raw(msgspec.json.encode({"type": "message", "role": "user", "content": given})),)
        case list():
            return given


def _behind(previous: Turn | None) -> Iterable[tuple[wire_items.Item, str]]:
    """Yield what earlier turns said; what is passed over in it was reported then."""
    for at, raw in enumerate(previous.after() if previous is not None else ()):
        place = f"previous_response_id[{at}]"
        match read_item(raw, place).item:
            case None | wire_items.ItemReference():
                continue
            case item:
                yield item, place


def _resolved(
    raw: Raw, place: str, store: ResponseStore, ignored: dict[str, None]
) -> tuple[wire_items.Item | None, Raw | None]:
    """Return an item and its JSON, for a reference those of the item that it names; nothing if that is not kept."""
    read = read_item(raw, place)
    match read.item:
        case wire_items.ItemReference(id=item_id):
            found = store.find_item(item_id)
            if found is None:
                ignored[f"{place} (item_reference to {item_id!r}, which is not kept here)"] = None
                return None, None
            named = read_item(found, place).item
            return (None if isinstance(named, wire_items.ItemReference) else named), found
        case item:
            ignored.update(dict.fromkeys(read.unknown))
            return item, raw
