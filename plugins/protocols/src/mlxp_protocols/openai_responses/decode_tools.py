"""Tools of a request, and which of them may or must be called.

Functions are offered as they are; a custom tool as a function with one string; the tools of a namespace under joined
names. Tools of any other kind cannot run here: they are passed over, and reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from mlxp_core.errors import BadRequest
from mlxp_core.types import ToolChoice, ToolSpec
from mlxp_protocols.body import read_value
from mlxp_protocols.openai_responses import wire_tools as wire
from mlxp_protocols.openai_responses.offers import CUSTOM_INPUT, Offer, Offers, offered_name
from mlxp_protocols.openai_responses.wire import ABSENT

_HOW = (
    'send "none", "auto", "required", {"type": "function", "name": ...} or '
    '{"type": "allowed_tools", "mode": ..., "tools": [...]}'
)


class Tools(Struct, frozen=True):
    """What the model is offered.

    Attributes:
        specs: for the model.
        choice: which of them may or must be called.
        offers: what they stand for, by the name that the model knows.
        echo: the tools as the response tells them.
        ignored: the tools that were passed over, by path and kind.
    """

    specs: tuple[ToolSpec, ...]
    choice: ToolChoice
    offers: Offers
    echo: tuple[Raw, ...]
    ignored: tuple[str, ...]


def read_tools(tools: Sequence[Raw] | None, choice: Raw, *, parallel: bool) -> Tools:
    """Return the tools on offer and the choice among them; ``allowed_tools`` withholds all others.

    Args:
        tools: as the client sent them.
        choice: as the client sent it, null for none.
        parallel: whether several calls in one answer are wanted.

    Raises:
        BadRequest: a tool lacks its name, two have the same, or the choice cannot be met.
    """
    specs: dict[str, ToolSpec] = {}
    offers: dict[str, Offer] = {}
    echo: list[Raw] = []
    ignored: list[str] = []
    for at, raw in enumerate(tools or ()):
        place = f"tools[{at}]"
        echo.append(_echo(raw, place))
        for spec, offer in _offered(raw, place, None, ignored):
            if spec.name in specs:
                raise BadRequest(
                    f"{place}: a second tool named {spec.name!r}; names must differ", param=place
                )
            specs[spec.name], offers[spec.name] = spec, offer
    chosen, names = _choose(choice, offers, parallel=parallel)
    kept = tuple(spec for name, spec in specs.items() if name in names)
    return Tools(kept, chosen, offers, tuple(echo), tuple(ignored))


def _offered(
    raw: Raw, place: str, namespace: str | None, ignored: list[str]
) -> Iterator[tuple[ToolSpec, Offer]]:
    match read_value(raw, wire.ToolKind, place).type:
        case "function":
            tool = read_value(raw, wire.FunctionTool, place)
            name = offered_name(tool.name, namespace)
            spec = ToolSpec(name, tool.description or "", tool.parameters or {}, bool(tool.strict))
            yield spec, Offer("function", tool.name, namespace)
        case "custom":
            custom = read_value(raw, wire.CustomTool, place)
            yield _custom(custom, namespace), Offer("custom", custom.name, namespace)
        case "namespace" if namespace is None:
            group = read_value(raw, wire.NamespaceTool, place)
            for at, inner in enumerate(group.tools):
                yield from _offered(inner, f"{place}.tools[{at}]", group.name, ignored)
        case kind:
            ignored.append(f"{place} ({kind})")


def _custom(tool: wire.CustomTool, namespace: str | None) -> ToolSpec:
    told = "The text that the tool takes."
    match tool.format:
        case wire.GrammarFormat(definition=definition, syntax=syntax):
            told = f"The text that the tool takes. It must match this {syntax} grammar:\n{definition}"
    parameters = {
        "type": "object",
        "properties": {CUSTOM_INPUT: {"type": "string", "description": told}},
        "required": [CUSTOM_INPUT],
        "additionalProperties": False,
    }
    return ToolSpec(offered_name(tool.name, namespace), tool.description or "", parameters)


def _echo(raw: Raw, place: str) -> Raw:
    """Return a tool as the response tells it; a function always tells its schema and whether it is strict."""
    if read_value(raw, wire.ToolKind, place).type != "function":
        return raw.copy()
    tool = read_value(raw, wire.FunctionTool, place)
    told = {**msgspec.json.decode(raw, type=dict[str, object])}
    return Raw(msgspec.json.encode({**told, "parameters": tool.parameters, "strict": bool(tool.strict)}))


def _choose(choice: Raw, offers: Offers, *, parallel: bool) -> tuple[ToolChoice, frozenset[str]]:
    """Return the choice, and the names of the tools that the model may see."""
    every = frozenset(offers)
    match _read_choice(choice):
        case None:
            return ToolChoice(parallel=parallel), every
        case "none" | "auto" | "required" as mode:
            return _free(mode, every, parallel=parallel), every
        case wire.ToolChoice(type="function" | "custom", name=str(name), namespace=namespace):
            (chosen,) = _find([(name, namespace)], offers, "tool_choice.name")
            return ToolChoice("one", chosen, parallel), every
        case wire.ToolChoice(type="allowed_tools", mode=mode, tools=list(tools)) if mode is not None:
            named = [(tool.name, tool.namespace) for tool in tools if tool.name is not None]
            allowed = frozenset(_find(named, offers, "tool_choice.tools"))
            return _free(mode, allowed, parallel=parallel), allowed
        case wire.ToolChoice(type=kind):
            raise BadRequest(
                f"tool_choice: a choice of type {kind!r} cannot be met here, or lacks its part; {_HOW}",
                param="tool_choice",
            )
        case str(word):
            raise BadRequest(f"tool_choice: {word!r} is no choice; {_HOW}", param="tool_choice")


def _read_choice(choice: Raw) -> wire.ToolChoice | str | None:
    if choice == ABSENT:
        return None
    if bytes(choice).startswith(b'"'):
        return msgspec.json.decode(choice, type=str)
    return read_value(choice, wire.ToolChoice, "tool_choice")


def _free(mode: Literal["none", "auto", "required"], names: frozenset[str], *, parallel: bool) -> ToolChoice:
    if mode == "required" and not names:
        raise BadRequest(
            "tool_choice: 'required' needs a tool that can be called here; send functions",
            param="tool_choice",
        )
    return ToolChoice(mode, parallel=parallel)


def _find(wanted: Iterable[tuple[str, str | None]], offers: Offers, place: str) -> list[str]:
    """Return the names that the model knows the wanted tools by."""
    found, missing = [], []
    for name, namespace in wanted:
        known = _known_as(name, namespace, offers)
        if known is None:
            missing.append(name)
        else:
            found.append(known)
    if missing:
        raise BadRequest(
            f"{place}: {', '.join(missing)} is not among the tools; offered: {', '.join(sorted(offers)) or 'none'}",
            param=place,
        )
    return found


def _known_as(name: str, namespace: str | None, offers: Mapping[str, Offer]) -> str | None:
    known = offered_name(name, namespace)
    return known if known in offers else None
