"""Whatever a client sends in place of a schema, an expression or a grammar: it is held, or refused by name."""

import importlib
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlxp_core.contracts import ToolFormat
from mlxp_core.desk.shapes import shape_of
from mlxp_core.errors import BadRequest
from mlxp_core.types import PIECES, GenerateRequest, ToolChoice, ToolSpec

KEYWORDS = [
    "type", "properties", "required", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "not",
    "additionalProperties", "patternProperties", "minLength", "maxLength", "pattern", "format", "minimum",
    "maximum", "multipleOf", "minItems", "maxItems", "minProperties", "$ref", "$defs", "definitions", "uniqueItems",
    "title", "nullable",
]  # fmt: skip
WORDS = ["object", "array", "string", "integer", "null", "#/$defs/a", "#", "a", "^a+$", "date", "(", "<", ""]
PLAIN = st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.sampled_from(WORDS)
RUBBISH = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, *WORDS]), inner, max_size=4)
    ),
    max_leaves=12,
)
SCHEMAS = st.dictionaries(st.sampled_from(KEYWORDS), RUBBISH, max_size=5)
FORMATS = [importlib.import_module(f"mlxp_{name}.tools").FORMAT for name in ("gemma4", "qwen35", "minicpm5")]
EXAMPLES = int(os.environ.get("STRUCTURED_EXAMPLES", "60"))
QUICK = settings(
    deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def refused(attempt):
    """Say whether it was refused; anything but a refusal is an error."""
    try:
        attempt()
    except BadRequest as error:
        return bool(error.message)
    return False


@QUICK
@given(schema=SCHEMAS | RUBBISH)
def test_a_schema(held, schema):
    refused(lambda: held("json_schema", schema).allowed())


@QUICK
@given(schema=SCHEMAS)
@pytest.mark.parametrize("markup", FORMATS, ids=lambda markup: markup.name)
def test_a_tools_schema(held, markup: ToolFormat, schema):
    request = GenerateRequest(
        id="r",
        model="m",
        prompt="hi",
        tools=(ToolSpec("go", parameters=schema),),
        tool_choice=ToolChoice("required"),
    )
    refused(lambda: held(PIECES, json.loads(bytes(shape_of(request, markup, {PIECES}).body))).allowed())


@QUICK
@given(text=st.text(max_size=20) | st.text("ab()[]{}*+?|\\^$.,0129-", max_size=20))
@pytest.mark.parametrize("kind", ["regex", "grammar"])
def test_an_expression_or_a_grammar(held, kind, text):
    refused(lambda: held(kind, {kind: text}))
    refused(lambda: held(kind, {kind: f"start: /{text}/"}))


@pytest.mark.parametrize(
    "body",
    [
        ("regex", {"regex": "((a{1,999}){1,999}){1,999}"}),
        ("regex", {"regex": "(" * 5000}),
        ("json_schema", {"type": "string", "pattern": "((a{1,999}){1,999}){1,999}"}),
        ("json_schema", {"type": "array", "minItems": 10**9}),
        ("grammar", {"grammar": "start: a\n" + "\n".join(f"a: a{n}" for n in range(50))}),
    ],
)
def test_what_is_too_large_is_refused_or_held_at_once(held, body):
    refused(lambda: held(*body))


def test_what_is_nested_without_end_is_refused(held):
    schema = {"type": "null"}
    for _ in range(200):
        schema = {"items": schema}
    assert refused(lambda: held("json_schema", schema))
