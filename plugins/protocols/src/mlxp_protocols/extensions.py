"""Fields of ours that several surfaces read alike: adapters, sampler stages, arguments of the chat template."""

from collections.abc import Mapping

from msgspec import Raw

from mlxp_core.errors import BadRequest

Primitive = str | int | float | bool

NAMES = {"adapters": "adapter", "stages": "sampler_stages", "template_args": "chat_template_kwargs"}
"""Field of a request -> what surfaces call it."""

_SWITCH = "enable_thinking"
_NULL = Raw(b"null")


def adapters(spec: str | None) -> tuple[str, ...] | None:
    """Return the ids in ``a+b`` or ``a,b``; ``none`` and an empty text are no adapter, null is not said.

    Raises:
        BadRequest: a name is empty, or named twice.
    """
    if spec is None:
        return None
    if spec.strip().lower() in {"", "none"}:
        return ()
    names = tuple(name.strip() for name in spec.replace("+", ",").split(","))
    if not all(names):
        raise BadRequest(f'adapter: {spec!r} holds an empty name; send "a", "a+b" or "none"', param="adapter")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadRequest(f"adapter: {spec!r} names {twice!r} twice; name it once", param="adapter")
    return names


def stages(given: Mapping[str, Raw] | None) -> dict[str, Raw]:
    """Return the settings of sampler stages, apart from the body that they came in; null is not said."""
    return {name: raw.copy() for name, raw in (given or {}).items() if raw != _NULL}


def thinking(arguments: Mapping[str, Primitive | None] | None, effort: str | None) -> bool | None:
    """Return what ``enable_thinking`` says, else what the effort says: ``none`` is off, any other on.

    Raises:
        BadRequest: the switch is no boolean.
    """
    match (arguments or {}).get(_SWITCH):
        case bool(switch):
            return switch
        case None:
            return None if effort is None else effort != "none"
        case other:
            place = f"chat_template_kwargs.{_SWITCH}"
            raise BadRequest(f"{place}: expected true or false, got {other!r}", param=place)


def template_args(arguments: Mapping[str, Primitive | None] | None) -> dict[str, Primitive]:
    """Return the further variables of the template: all but the switch and what is null."""
    given = arguments or {}
    return {name: value for name, value in given.items() if name != _SWITCH and value is not None}
