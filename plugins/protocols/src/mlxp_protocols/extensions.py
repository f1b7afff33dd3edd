"""Request fields beyond every standard, read alike on every surface: adapters, template variables, sampler stages."""

from collections.abc import Mapping

from msgspec import Raw

from mlxp_core.errors import BadRequest

Primitive = str | int | float | bool
_NULL = Raw(b"null")


def adapter_ids(spec: str | None) -> tuple[str, ...]:
    """Return the ids in ``a+b`` or ``a,b``; ``none`` and nothing are no adapter.

    Raises:
        BadRequest: one of the names is empty.
    """
    if spec is None or spec.strip() in {"", "none"}:
        return ()
    names = tuple(name.strip() for name in spec.replace("+", ",").split(","))
    if not all(names):
        raise BadRequest(f'adapter: {spec!r} holds an empty name; send "a", "a+b" or "none"', param="adapter")
    return names


def thinking_switch(kwargs: Mapping[str, Primitive | None] | None) -> bool | None:
    """Return what ``chat_template_kwargs.enable_thinking`` says, if anything.

    Raises:
        BadRequest: it is neither true nor false.
    """
    match (kwargs or {}).get("enable_thinking"):
        case bool() | None as switch:
            return switch
        case other:
            place = "chat_template_kwargs.enable_thinking"
            raise BadRequest(f"{place}: expected true or false, got {other!r}", param=place)


def template_args(kwargs: Mapping[str, Primitive | None] | None) -> dict[str, Primitive]:
    """Return the variables for the template; the thinking switch is none of them."""
    given = (kwargs or {}).items()
    return {name: value for name, value in given if name != "enable_thinking" and value is not None}


def stage_settings(stages: Mapping[str, Raw] | None) -> dict[str, Raw]:
    """Return the settings of each sampler stage, unread; the stage that owns them reads them."""
    return {name: raw.copy() for name, raw in (stages or {}).items() if raw != _NULL}
