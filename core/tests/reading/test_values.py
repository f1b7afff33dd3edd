"""Values written as text, and what a schema makes of them."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.reading import ArgumentWriter, object_json, parameter_types, quoted, value_json
from mlxp_core.types import ToolSpec

LEAVES = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text()
VALUES = st.recursive(
    LEAVES | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(st.characters(codec="ascii")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("ab'\"\\", max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def tool(**properties):
    return ToolSpec("t", parameters={"type": "object", "properties": properties})


@given(value=VALUES, text=st.text())
def test_the_result_is_always_json(value, text):
    for types in (None, frozenset({"string"}), frozenset({"integer", "null"}), frozenset({"object"})):
        json.loads(value_json(text, types))
    assert json.loads(value_json(json.dumps(value), None)) == (value if value != "" else "")


@given(value=PLAIN.filter(lambda value: isinstance(value, dict | list)))
def test_python_spelling_is_understood(value):
    assert json.loads(value_json(str(value), None)) == value
    assert json.loads(value_json(str(value), frozenset({"object", "array"}))) == value


@given(text=st.text())
def test_text_parameters_stay_text(text):
    assert json.loads(value_json(text, frozenset({"string"}))) == text
    assert json.loads(value_json(text, frozenset({"string", "null"}))) == text
    assert json.loads(quoted(text)) == text


@pytest.mark.parametrize(
    ("text", "types", "value"),
    [
        ("4", {"integer"}, 4),
        ("4.0", {"integer"}, 4.0),
        ("4", {"string", "integer"}, 4),
        ("true", {"string", "integer"}, "true"),
        ("four", {"integer"}, "four"),
        ("null", {"integer", "null"}, None),
        ("None", {"integer", "null"}, None),
        ("[1]", {"object"}, [1]),
        ("(1, 2)", {"array"}, [1, 2]),
        ("{'a': {'b'}}", {"object"}, "{'a': {'b'}}"),
        ("{'a': Infinity}", {"object"}, "{'a': Infinity}"),
        ("{'a': '\\x41\\u00e9\\n\\d'}", {"object"}, {"a": "Aé\n\\d"}),
        ("[" * 5000, {"array"}, "[" * 5000),
        ("  ", {"integer"}, "  "),
        ("1e999", {"number"}, math.inf),
    ],
)
def test_schemas_decide(text, types, value):
    assert json.loads(value_json(text, frozenset(types))) == value


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": "STRING"}, {"string"}),
        ({"type": ["integer", "null"]}, {"integer", "null"}),
        ({"type": "integer", "nullable": True}, {"integer", "null"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"string", "null"}),
        ({"anyOf": [{"type": "string"}, {}]}, None),
        ({"oneOf": [{"type": "number"}, {"const": True}]}, {"number", "boolean"}),
        ({"enum": ["a", 1]}, {"string", "integer", "number"}),
        ({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}, {"string"}),
        ({"$ref": "#/$defs/name"}, {"string"}),
        ({"$ref": "#/$defs/loop"}, None),
        ({"$ref": "#/$defs/absent"}, None),
        ({"$ref": "elsewhere"}, None),
        ({}, None),
        (True, None),
    ],
)
def test_types_of_a_parameter(schema, types):
    spec = ToolSpec(
        "t",
        parameters={
            "properties": {"x": schema},
            "$defs": {"name": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}},
        },
    )
    assert parameter_types(spec, "x") == types
    assert parameter_types(spec, "y") is None


@given(
    values=st.dictionaries(st.text(min_size=1), st.lists(st.text(max_size=5), max_size=4), max_size=4),
    kind=st.sampled_from(["string", "integer"]),
)
def test_fragments_join_to_one_object(values, kind):
    writer = ArgumentWriter(tool(**{key: {"type": kind} for key in values}))
    fragments = []
    for key, pieces in values.items():
        fragments += [writer.open(key), *(writer.write(piece) for piece in pieces), writer.close()]
    fragments.append(writer.end())
    assert list(json.loads("".join(fragments))) == list(values)
    if kind == "string":
        assert json.loads("".join(fragments)) == {key: "".join(pieces) for key, pieces in values.items()}


def test_text_goes_out_as_it_grows():
    writer = ArgumentWriter(tool(x={"type": "string"}, y={"type": "integer"}))
    assert writer.open("x") == '{"x": "'
    assert writer.write('a"') == 'a\\"'
    assert writer.close() == '"'
    assert writer.open("y") == ', "y": '
    assert writer.write("1") == ""
    assert writer.close() == "1"
    assert writer.end() == "}"


def test_only_objects_are_arguments():
    assert object_json('{"a": 1}') == '{"a": 1}'
    assert [object_json(text) for text in ("[1]", "", "{", "null", '{"a": NaN}')] == [None] * 5
    assert msgspec.json.decode(object_json("{}")) == {}
