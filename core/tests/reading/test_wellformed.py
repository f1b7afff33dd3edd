"""A schema is one, or refused by the place of what is wrong."""

import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.reading import check_schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": ["string", "null"], "maxLength": 3, "x-unknown": [{"type": 5}]},
        {"properties": {"type": {"type": "string"}, "required": {"items": True}}, "required": ["type"]},
        {"items": [{"type": "null"}], "additionalItems": False, "minItems": 1.0},
        {"$defs": {"a": {"$ref": "#"}}, "anyOf": [{"$ref": "#/$defs/a"}], "multipleOf": 0.5},
    ],
)
def test_schemas_pass(schema):
    check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ([], "it must be an object"),
        ({"properties": {"a": {"type": 5}}}, "it.properties.a.type must be a type"),
        ({"properties": []}, "it.properties must be an object"),
        ({"required": "a"}, "it.required must be a list of strings"),
        ({"required": [{}]}, "it.required must be a list of strings"),
        ({"anyOf": []}, "it.anyOf must be a list that is not empty"),
        ({"anyOf": [{}, {"enum": 3}]}, r"it.anyOf\[1\].enum must be a list"),
        ({"items": {"items": {"minLength": -1}}}, "it.items.items.minLength must be a number"),
        ({"maxItems": 1.5}, "it.maxItems must be a number"),
        ({"minimum": True}, "it.minimum must be a number"),
        ({"multipleOf": 0}, "it.multipleOf must be more than 0"),
        ({"pattern": None}, "it.pattern must be a string"),
        ({"additionalProperties": "no"}, "it.additionalProperties must be an object or a boolean"),
        ({"$defs": {"a": 1}}, r"it.\$defs.a must be an object"),
        ({"type": []}, "it.type must be a type"),
    ],
)
def test_others_are_refused_by_their_place(schema, place):
    with pytest.raises(BadRequest, match=place):
        check_schema(schema, "it")


def test_depth_has_an_end():
    schema = {}
    for _ in range(101):
        schema = {"items": schema}
    with pytest.raises(BadRequest, match="nested no deeper than 100"):
        check_schema(schema)
