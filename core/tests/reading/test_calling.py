"""What families write the grammars of their calls with."""

import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.reading import call_as_json, call_grammar, callable_now, parameters, self_contained
from mlxp_core.types import Chain, Either, Named, Repeat, ToolChoice, ToolSpec, Written

NODE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}


def listed(**schema):
    return parameters(ToolSpec("go", parameters=schema))


def test_parameters_are_those_that_are_listed_or_required():
    told = listed(
        type="object",
        description="goes",
        properties={
            "a": {"type": "string"},
            "b": {"type": ["integer", "null"]},
            "c": {"type": "array"},
            "d": {},
            "no": False,
        },
        required=["b", "e"],
    )
    assert [(each.name, each.required, each.kind) for each in told] == [
        ("a", False, "text"),
        ("b", True, "scalar"),
        ("c", False, "json"),
        ("d", False, "json"),
        ("e", True, "json"),
    ]


@pytest.mark.parametrize(
    "schema", [{"anyOf": [{}]}, {"type": "string"}, {"minProperties": 1}, {"$ref": "#/a"}]
)
def test_a_schema_that_is_more_than_a_list_is_not_taken_apart(schema):
    assert listed(**schema) is None


def test_a_required_parameter_without_a_value_is_refused():
    with pytest.raises(BadRequest, match=r"'go'.*'a'"):
        listed(properties={"a": False}, required=["a"])


def test_a_part_means_the_same_by_itself():
    root = {"properties": {"root": {"$ref": "#/$defs/node"}, "n": {"type": "null"}}, "$defs": {"node": NODE}}
    part = self_contained(root["properties"]["root"], root)
    assert part["$ref"] == "#/$defs/root/$defs/node"
    inner = part["$defs"]["root"]["$defs"]["node"]["properties"]["kids"]["items"]
    assert inner == {"$ref": "#/$defs/root/$defs/node"}
    assert self_contained(root["properties"]["n"], root) == {"type": "null"}


def test_a_call_as_json_has_its_name_and_its_arguments():
    schema = call_as_json(ToolSpec("go", parameters={"properties": {"a": {"$ref": "#"}}})).schema
    assert schema["properties"]["name"] == {"const": "go"}
    assert schema["properties"]["arguments"] == {"$ref": "#/$defs/root"}
    assert schema["$defs"]["root"] == {"properties": {"a": {"$ref": "#/$defs/root"}}, "type": "object"}


def test_calls_come_as_often_as_they_are_wanted():
    one, other = Written("a"), Written("b")
    single = call_grammar([one], ToolChoice("required", parallel=False))
    assert single.start == one
    several = call_grammar([one, other], ToolChoice("required"), between=";", rules={"r": Named("r")})
    call = Either((one, other))
    assert several.start == Chain((call, Repeat(Chain((Written(";"), call)), 0, 31)))
    assert several.rules == {"r": Named("r")}


def test_a_named_tool_alone_may_be_called():
    tools = (ToolSpec("a"), ToolSpec("b"))
    assert callable_now(tools, ToolChoice("one", "b")) == tools[1:]
    assert callable_now(tools, ToolChoice("required")) == tools
