"""Every answer that ends has its shape, whatever is drawn."""

import json
import os
import re
from pathlib import Path

import pytest

from mlxp_core.errors import BadRequest

BY_HAND = json.loads((Path(__file__).parent / "schemas.json").read_text("utf-8"))
WALKS = int(os.environ.get("STRUCTURED_WALKS", "3"))
MADE = int(os.environ.get("STRUCTURED_SCHEMAS", "40"))
LEAST_FINISHED = 0.5


@pytest.fixture
def answers(held, vocabulary, said):
    """Return the texts that random answers of a shape come to."""

    def make(kind, body=None, walks=WALKS):
        told = [said(held(kind, body), vocabulary, seed) for seed in range(walks)]
        return [text for text in told if text is not None]

    return make


@pytest.mark.parametrize("name", BY_HAND)
def test_json_that_ends_is_accepted_by_its_schema(answers, judge, name):
    texts = answers("json_schema", BY_HAND[name])
    assert len(texts) >= WALKS * LEAST_FINISHED
    for text in texts:
        judge(text, BY_HAND[name])


@pytest.mark.parametrize("number", range(MADE))
def test_json_that_ends_is_accepted_by_a_schema_made_at_random(answers, judge, schema_made, number):
    schema = schema_made(number)
    texts = answers("json_schema", schema)
    assert texts
    for text in texts:
        judge(text, schema)


def test_a_json_object_is_any_object(answers, judge):
    for text in answers("json_object", walks=8):
        judge(text, {"type": "object"})


@pytest.mark.parametrize(
    "pattern",
    ["[a-c]{3}-[0-9]+", "^ab$", "(yes|no)!?", "é{2}x", r"\d{1,3}\.\d{2}", r"[^\n]{0,5}", r'a/b"c\\', "x|"],
)
def test_text_matches_its_expression_as_a_whole(answers, pattern):
    texts = answers("regex", {"regex": pattern})
    assert texts
    for text in texts:
        assert re.fullmatch(pattern, text)


def test_a_choice_is_one_of_its_texts_and_each_can_be_said(answers):
    choice = ["yes", "no", 'a "quoted" one', "größer\nals", "yes, but"]
    assert set(answers("choice", {"choice": choice}, walks=60)) == set(choice)


def test_a_grammar_is_kept(answers):
    grammar = 'start: "(" term ")"\nterm: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]{1,3}/'
    texts = answers("grammar", {"grammar": grammar}, walks=8)
    assert texts
    for text in texts:
        assert re.fullmatch(r"\([0-9]{1,3}(\+[0-9]{1,3})*\)", text)


@pytest.mark.parametrize(
    ("kind", "body", "named"),
    [
        ("json_schema", {"not": {"type": "null"}}, "not"),
        ("json_schema", {"type": "array", "uniqueItems": True}, "uniqueItems"),
        ("json_schema", {"type": "array", "contains": {"type": "integer"}}, "contains"),
        ("json_schema", {"type": "object", "propertyNames": {"pattern": "^a"}}, "propertyNames"),
        ("json_schema", {"type": "object", "dependentRequired": {"a": ["b"]}}, "dependentRequired"),
        ("json_schema", {"if": {"type": "null"}, "then": False}, "if, then"),
        ("json_schema", {"type": "object", "minProperties": 2}, "minProperties"),
        ("json_schema", {"properties": {"a": {"items": {"unevaluatedItems": False}}}}, "unevaluatedItems"),
        ("json_schema", {"$ref": "https://example.com/schema"}, "example.com"),
        ("json_schema", {"type": "text"}, "text"),
        ("json_schema", {"type": "string", "pattern": "(?=a)b"}, "look-ahead"),
        ("json_schema", {"type": "string", "minLength": 3, "maxLength": 2}, "minLength"),
        ("json_schema", {"type": "object", "properties": {"a": False}, "required": ["a"]}, "'a'"),
        ("json_schema", False, "false"),
        ("json_schema", [1], "list"),
        ("regex", {"regex": "(a"}, "unclosed group"),
        ("regex", {"pattern": "a"}, "`regex`"),
        ("regex", None, "regex"),
        ("choice", {"choice": []}, "at least one"),
        ("choice", {"choice": ["a", ""]}, "empty"),
        ("grammar", {"grammar": "begin: /a/"}, "start"),
        ("grammar", {"grammar": "start: other"}, "other"),
        ("pieces", {"start": {"type": "shaped", "kind": "pieces"}}, "pieces"),
    ],
)
def test_what_cannot_be_held_is_refused_by_name(held, kind, body, named):
    with pytest.raises(BadRequest, match=re.escape(named)):
        held(kind, body)


def test_a_mask_is_never_empty_and_a_complete_answer_can_only_end(held, vocabulary, allowed):
    constraint = held("regex", {"regex": "ab"})
    for letter in "ab":
        (token,) = vocabulary.encode(letter)
        assert allowed(constraint.allowed(), vocabulary)
        constraint.advance(token)
    assert set(allowed(constraint.allowed(), vocabulary)) == vocabulary.end_tokens


def test_markers_are_never_text(held, vocabulary, allowed, said):
    marker = vocabulary.token_id("<think>")
    for kind, body in (("regex", {"regex": "(?s:.*)"}), ("choice", {"choice": ["<think>"]})):
        constraint = held(kind, body)
        assert marker not in allowed(constraint.allowed(), vocabulary)
    told = said(held("choice", {"choice": ["a<think>b"]}), vocabulary, 0)
    assert told == "a<think>b"
