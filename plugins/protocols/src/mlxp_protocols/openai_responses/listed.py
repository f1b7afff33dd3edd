"""Input items as the API lists them: each with an id, a kind and a status, words as parts."""

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from mlxp_protocols.openai_responses.decode_items import kind_of

_PREFIXES: Mapping[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}


def as_listed(raw: Raw, place: str, suffix: str) -> Raw:
    """Return an item that was read without a fault in the form that is kept.

    Args:
        raw: its JSON.
        place: its path in the body.
        suffix: makes an id for it, if it has none.
    """
    given = msgspec.json.decode(raw, type=dict[str, object])
    kind = kind_of(given, place)
    told = {**given, "type": kind, "id": _named(given.get("id")) or f"{_PREFIXES.get(kind, 'item')}_{suffix}"}
    if kind != "reasoning":
        told["status"] = given.get("status") or "completed"
    if kind == "message":
        told["content"] = _parts(given.get("content"), given["role"])
    return Raw(msgspec.json.encode(told))


def _named(item_id: object) -> str | None:
    return item_id if isinstance(item_id, str) else None


def _parts(content: object, role: object) -> object:
    match content:
        case str() if role == "assistant":
            return [{"type": "output_text", "text": content, "annotations": []}]
        case str():
            return [{"type": "input_text", "text": content}]
        case None:
            return []
        case _:
            return content
