"""The document tells the truth about bodies that only protocols can read."""

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from mlxp_core.contracts import Query
from mlxp_core.errors import NotFound
from mlxp_core.server.openapi import document
from mlxp_core.server.schemas import Schemas
from mlxp_core.types import Finished, Started, Timing, Usage, WireResponse

SHORT = (Started("", ""), Finished("stop", Usage(), Timing()))


class Leaf(Struct, tag_field="kind", tag="leaf"):
    """A leaf."""

    weight: Annotated[float, Meta(ge=0, lt=2)] = 1.0
    rest: Raw = Raw(b"null")


class Tree(Struct, rename="camel", forbid_unknown_fields=True):
    sub_trees: "list[Tree]"
    leaf: Leaf | None = None
    mode: Literal["a", "b"] = "a"
    names: dict[str, Annotated[str, Meta(max_length=3)]] = {}
    pair: tuple[int, bool] = (1, True)
    words: Annotated[tuple[str, ...], Meta(min_length=1)] = ("x",)
    data: bytes = b""


def test_schemas_of_every_shape():
    tree = Schemas([Tree]).components["Tree"]
    ref = {"$ref": "#/components/schemas/Tree"}
    assert tree["required"] == ["subTrees"]
    assert tree["additionalProperties"] is False
    assert tree["properties"] == {
        "subTrees": {"type": "array", "items": ref},
        "leaf": {"anyOf": [{"$ref": "#/components/schemas/Leaf"}, {"type": "null"}], "default": None},
        "mode": {"enum": ["a", "b"], "default": "a"},
        "names": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False},
        "words": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "data": {"type": "string", "contentEncoding": "base64"},
    }


def test_a_default_that_json_cannot_say_is_left_out():
    leaf = Schemas([Leaf]).components["Leaf"]
    assert leaf["description"] == "A leaf."
    assert leaf["required"] == ["kind"]
    assert leaf["properties"]["rest"] == {}
    bounds = {"type": "number", "minimum": 0, "exclusiveMaximum": 2, "default": 1.0}
    assert leaf["properties"]["weight"] == bounds


def test_two_types_of_one_name_stay_apart():
    def make(kind):
        class Same(Struct):
            value: kind

        return Same

    one, two = make(int), make(str)
    two.__module__ = "elsewhere"
    schemas = Schemas([one, two])
    assert schemas.of(one) != schemas.of(two)
    assert len(schemas.components) == 2


@pytest.fixture
def paths(lines):
    return document([lines])["paths"]


def test_an_endpoint_shows_its_body_and_both_kinds_of_answer(paths):
    operation = paths["/t/say"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/Ask"}
    assert set(operation["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}


def test_a_query_shows_its_parameters(paths):
    operation = paths["/t/echo/{word}"]["get"]
    assert [parameter["name"] for parameter in operation["parameters"]] == ["word"]
    assert "requestBody" not in operation


def test_it_is_served_and_every_reference_in_it_leads_somewhere(talk):
    with talk(SHORT) as (served, _):
        told = served.client.get("/schema/openapi.json").json()

    def references(value):
        match value:
            case {"$ref": ref}:
                yield ref
            case dict():
                for each in value.values():
                    yield from references(each)
            case list():
                for each in value:
                    yield from references(each)

    known = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
    assert set(references(told)) <= known
    assert {"/t/say", "/health"} <= set(told["paths"])


def test_every_status_is_listed_with_the_protocols_own_number_and_shape(lines):
    class Fault(Struct):
        code: str

    def render(error):
        return WireResponse(status=529 if error.status == 429 else error.status, body=b"{}")

    told = document([replace(lines, render_error=render, error=Fault)])["paths"]
    say, echo = told["/t/say"]["post"]["responses"], told["/t/echo/{word}"]["get"]["responses"]
    assert set(say) == {"200", "400", "401", "403", "404", "413", "500", "503", "529"}
    assert set(echo) == {"200", "401", "403", "413", "500"}
    shape = {"application/json": {"schema": {"$ref": "#/components/schemas/Fault"}}}
    assert {status for status, answer in say.items() if answer.get("content") == shape} == set(say) - {"200"}


def test_a_query_lists_what_it_raises_and_answers_besides(lines):
    query = Query(
        path="/q",
        answer=None,
        returns=Leaf,
        summary="Ask",
        raises=(NotFound,),
        statuses=(503,),
        access="open",
    )
    asked = document([replace(lines, endpoints=(query,))])["paths"]["/q"]["get"]
    leaf = {"application/json": {"schema": {"$ref": "#/components/schemas/Leaf"}}}
    assert asked["responses"]["503"]["content"] == asked["responses"]["200"]["content"] == leaf
    assert "404" in asked["responses"]
    assert asked["security"] == []


def test_keys_are_described(talk, paths):
    assert {} in paths["/t/say"]["post"]["security"]
    with talk(SHORT) as (served, _):
        schemes = served.client.get("/schema/openapi.json").json()["components"]["securitySchemes"]
    named = {name for choice in paths["/t/say"]["post"]["security"] for name in choice}
    assert named == set(schemes)
