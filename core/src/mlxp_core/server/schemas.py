"""JSON schemas of wire types.

msgspec writes schemas too, but fails on defaults that are no plain values, such as ``Raw``, and one such field of a
plugin would cost the whole document. Here what cannot be said is left out.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec import inspect as shapes

Schema = dict[str, Any]
"""A JSON schema; JSON leaves here."""

BOUNDS: Mapping[str, str] = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}

SCALARS: Mapping[type[shapes.Type], Schema] = {
    shapes.NoneType: {"type": "null"},
    shapes.BoolType: {"type": "boolean"},
    shapes.IntType: {"type": "integer"},
    shapes.FloatType: {"type": "number"},
    shapes.BytesType: {"type": "string", "contentEncoding": "base64"},
}
"""Types without parts; anything else may hold anything."""


class Schemas:
    """Collects the schemas of types and of all that they hold.

    Attributes:
        components: name -> schema of every struct met so far.
    """

    def __init__(self, types: Iterable[type[Struct]]) -> None:
        """Describe some types."""
        self.components: dict[str, Schema] = {}
        self._names: dict[type, str] = {}
        for kind in types:
            self.of(kind)

    def of(self, kind: type[Struct]) -> Schema:
        """Return the reference to a type's schema."""
        return self._schema(shapes.type_info(kind))

    def _schema(self, shape: shapes.Type) -> Schema:
        match shape:
            case shapes.StructType():
                return self._struct(shape)
            case shapes.Metadata(type=inner):
                return self._schema(inner)
            case shapes.UnionType(types=types):
                return {"anyOf": [self._schema(each) for each in types]}
            case shapes.DictType() | shapes.TupleType() | shapes.CollectionType():
                return self._container(shape)
            case _:
                return _scalar(shape)

    def _container(self, shape: shapes.DictType | shapes.TupleType | shapes.CollectionType) -> Schema:
        match shape:
            case shapes.DictType(value_type=value):
                return {"type": "object", "additionalProperties": self._schema(value)}
            case shapes.TupleType(item_types=items):
                described = [self._schema(item) for item in items]
                return {"type": "array", "prefixItems": described, "items": False}
            case _:
                return {"type": "array", "items": self._schema(shape.item_type), **_lengths(shape, "Items")}

    def _struct(self, shape: shapes.StructType) -> Schema:
        if shape.cls not in self._names:
            name = self._names[shape.cls] = self._free_name(shape.cls)
            self.components[name] = {}  # its place, while types that hold themselves are walked
            self.components[name] = self._object(shape)
        return {"$ref": f"#/components/schemas/{self._names[shape.cls]}"}

    def _free_name(self, kind: type) -> str:
        """Return a name that no other type has: its own, or with its module before it."""
        plain = kind.__name__
        return plain if plain not in self.components else f"{kind.__module__}.{plain}".replace(".", "_")

    def _object(self, shape: shapes.StructType) -> Schema:
        properties: Schema = {}
        required: list[str] = []
        if shape.tag_field is not None:
            properties[shape.tag_field] = {"enum": [shape.tag]}
            required.append(shape.tag_field)
        for field in shape.fields:
            schema = self._schema(field.type)
            if field.required:
                required.append(field.encode_name)
            elif field.default is None or isinstance(field.default, bool | int | float | str):
                schema = {**schema, "default": field.default}
            properties[field.encode_name] = schema
        described: Schema = {"type": "object", "properties": properties}
        if required:
            described["required"] = required
        if text := inspect.getdoc(shape.cls):
            described["description"] = text
        if shape.forbid_unknown_fields:
            described["additionalProperties"] = False
        return described


def _scalar(shape: shapes.Type) -> Schema:
    match shape:
        case shapes.IntType() | shapes.FloatType():
            return {**SCALARS[type(shape)], **_bounds(shape)}
        case shapes.StrType():
            return {"type": "string", **_bounds(shape), **_lengths(shape, "Length")}
        case shapes.LiteralType(values=values):
            return {"enum": list(values)}
        case shapes.EnumType(cls=kind):
            return {"enum": [member.value for member in kind]}
        case _:
            return SCALARS.get(type(shape), {})


def _bounds(shape: shapes.IntType | shapes.FloatType | shapes.StrType) -> Schema:
    told = msgspec.structs.asdict(shape)
    return {ours: told[theirs] for theirs, ours in BOUNDS.items() if told.get(theirs) is not None}


def _lengths(shape: shapes.StrType | shapes.CollectionType, of_what: str) -> Schema:
    ends = {f"min{of_what}": shape.min_length, f"max{of_what}": shape.max_length}
    return {name: value for name, value in ends.items() if value is not None}
