"""What becomes of request fields: the refused are refused by name, the unknown are reported.

The types of a surface's ``wire.py`` say what is read; its manifest (``RequestField``) says what is read, accepted
without effect, or refused. Whatever is in neither is unknown.
"""

from collections.abc import Mapping, Sequence

from msgspec import inspect

from mlxp_core.contracts import RequestField
from mlxp_core.errors import BadRequest


def refuse(given: Mapping[str, object], fields: Sequence[RequestField]) -> None:
    """Refuse a body that asks for something we do not do; JSON null asks for nothing.

    Raises:
        BadRequest: naming the field, with its note.
    """
    for field in fields:
        if field.treatment == "refused" and given.get(field.name) is not None:
            raise BadRequest(f"{field.name} is not supported: {field.note}", param=field.name)


def unknown_fields(
    given: Mapping[str, object], shape: inspect.Type, fields: Sequence[RequestField]
) -> tuple[str, ...]:
    """Return the paths of all fields that neither ``shape`` nor the manifest knows, each once.

    Args:
        given: the body as plain JSON values.
        shape: ``msgspec.inspect.type_info`` of the type that the body was read as.
        fields: the manifest; its names are known at the top level.
    """
    found: dict[str, None] = {}
    _walk(given, shape, "", found)
    known = {field.name for field in fields}
    return tuple(name for name in found if name not in known)


def _walk(value: object, shape: inspect.Type, place: str, found: dict[str, None]) -> None:
    match shape, value:
        case inspect.StructType(), dict():
            known = {field.encode_name: field.type for field in shape.fields}
            for name, inner in value.items():
                path = f"{place}.{name}" if place else name
                if name in known:
                    _walk(inner, known[name], path, found)
                elif name != shape.tag_field:
                    found[path] = None
        case inspect.ListType() | inspect.VarTupleType(), list():
            for item in value:
                _walk(item, shape.item_type, f"{place}[]", found)
        case inspect.UnionType(), _:
            for option in shape.types:
                if _is_meant(value, option):
                    _walk(value, option, place, found)


def _is_meant(value: object, option: inspect.Type) -> bool:
    """Say whether a value of a union was read as this option: a tagged union goes by its tag."""
    match option, value:
        case inspect.StructType(tag_field=str(tag_field), tag=tag), dict():
            return bool(value.get(tag_field) == tag)
        case _:
            return True
