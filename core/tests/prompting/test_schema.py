import copy
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.prompting.schema import typed_schema

NAMES = ["string", "integer", "number", "boolean", "object", "array", "null"]

SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(
                st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES)), st.none(), st.integers()
            ),
            "enum": st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3), st.booleans())),
            "const": st.one_of(st.none(), st.floats(allow_nan=False), st.text(max_size=3)),
            "description": st.text(max_size=5),
            "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b", "#/nowhere", "#", "elsewhere#/x"]),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), min_size=1)),
            "properties": st.dictionaries(st.text(max_size=3), st.one_of(inner, st.booleans())),
            "items": st.one_of(inner, st.booleans(), st.lists(inner)),
            "additionalProperties": st.one_of(inner, st.booleans()),
            "anyOf": st.lists(inner),
            "oneOf": st.lists(inner),
            "allOf": st.lists(inner),
            "prefixItems": st.lists(inner),
            "$defs": st.dictionaries(st.sampled_from("ab"), inner),
        },
    ),
    max_leaves=12,
)


def nodes(schema):
    """Every schema within a schema."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "patternProperties", "$defs", "definitions"):
        for inner in schema.get(key, {}).values():
            yield from nodes(inner)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(key, ()):
            yield from nodes(inner)
    for key in ("items", "additionalProperties"):
        inner = schema.get(key)
        for each in inner if isinstance(inner, list) else [inner]:
            yield from nodes(each)


@given(schema=SCHEMAS)
def test_every_node_has_a_string_type_and_the_input_is_untouched(schema):
    before = copy.deepcopy(schema)
    typed = typed_schema(schema)
    assert schema == before
    assert all(isinstance(node["type"], str) for node in nodes(typed))


@given(schema=SCHEMAS)
def test_typing_twice_is_typing_once(schema):
    typed = typed_schema(schema)
    assert typed_schema(typed) == typed


@given(schema=SCHEMAS)
def test_string_types_and_other_keywords_stay(schema):
    def check(before, after):
        for key, value in before.items():
            if key == "type":
                assert not isinstance(value, str) or after["type"] == value
            elif key in {"enum", "const", "description", "$ref"}:
                assert after[key] == value

    for before, after in zip(nodes(schema), nodes(typed_schema(schema)), strict=False):
        check(before, after)


@pytest.mark.parametrize(
    ("node", "name", "nullable"),
    [
        ({"type": ["integer", "null"]}, "integer", True),
        ({"type": ["null", "string"]}, "string", True),
        ({"type": ["number", "string"]}, "number", None),
        ({"type": ["null"]}, "null", None),
        ({"type": "null"}, "null", None),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, "boolean", True),
        ({"anyOf": [{"type": ["array", "null"]}]}, "array", True),
        ({"oneOf": [{"description": "?"}, {"type": "number"}]}, "number", None),
        ({"allOf": [{"$ref": "#/$defs/point"}]}, "object", None),
        ({"$ref": "#/$defs/point"}, "object", None),
        ({"$ref": "#/$defs/loop"}, "string", None),
        ({"enum": [1, 2]}, "integer", None),
        ({"enum": ["a", None]}, "string", True),
        ({"enum": [1.5]}, "number", None),
        ({"enum": [2.0]}, "integer", None),
        ({"enum": [True]}, "boolean", None),
        ({"const": [1]}, "array", None),
        ({"const": None}, "null", None),
        ({"properties": {}}, "object", None),
        ({"additionalProperties": False}, "object", None),
        ({"items": {}}, "array", None),
        ({"prefixItems": []}, "array", None),
        ({"type": []}, "string", None),
        ({}, "string", None),
        ({"type": ["integer", "null"], "nullable": False}, "integer", False),
    ],
)
def test_where_a_type_comes_from(node, name, nullable):
    definitions = {"point": {"properties": {"x": {}}}, "loop": {"$ref": "#/$defs/loop"}}
    root = {"type": "object", "properties": {"it": node}, "$defs": definitions}
    typed = typed_schema(root)["properties"]["it"]
    assert typed["type"] == name
    assert typed.get("nullable") == nullable


@pytest.mark.parametrize("schema", [{}, {"description": "no type"}, {"$schema": "x"}])
def test_the_root_is_an_object(schema):
    assert typed_schema(schema)["type"] == "object"


def test_a_given_type_stays_where_it_was():
    assert list(typed_schema({"type": ["object"], "title": "t"})) == ["type", "title"]
