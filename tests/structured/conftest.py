"""Kinds of shapes, schemas, tokenizers, judges, and a model that draws anything."""

import json
import random

import anthropic
import jsonschema
import openai
import pytest
from msgspec import Raw

from mlxp_core.loading.sketch_tokenizer import END, TURN_END, sketch_tokenizer
from mlxp_core.prompting import Tokenizer
from mlxp_core.testing.live import serve_folders
from mlxp_structured.plugin import mlxp_constraints

PATIENCE_S = 120
FAMILIES = {"gemma4": "gemma4-e2b", "qwen35": "qwen35", "minicpm5": "minicpm5"}
"""Family -> the smallest checkpoint of it."""

ENDING = (b'"', b"}", b"]", b"<", b"\n", b",")
"""Bytes that tend to bring an answer to its end."""


@pytest.fixture(scope="session")
def kinds():
    """Everything that an answer can be held to, by name."""
    return {kind.name: kind for kind in mlxp_constraints()}


@pytest.fixture(scope="session")
def vocabulary():
    """The tokenizer of the project's own random model: single bytes and a few words."""
    text = json.dumps(sketch_tokenizer()).encode()
    return Tokenizer(text, size=384, end_tokens=frozenset({END, TURN_END}))


@pytest.fixture(scope="session")
def held(kinds, vocabulary):
    """Make the constraint of an answer."""

    def compiled(kind, body=None, vocabulary=vocabulary):
        return kinds[kind].compile(None if body is None else Raw(json.dumps(body).encode()), vocabulary)

    return compiled


@pytest.fixture(scope="session")
def judge():
    """Assert that a text is JSON that a schema accepts, formats too."""

    def check(text, schema):
        jsonschema.Draft202012Validator(
            schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
        ).validate(json.loads(text))

    return check


# ── A model that draws anything ─────────────────────────────────────────────────────────────────────────────────────


def allowed_tokens(mask, vocabulary):
    size = min(vocabulary.size, 8 * len(mask))
    return [token for token in range(size) if mask[token >> 3] >> (token & 7) & 1]


def walk_through(constraint, vocabulary, seed, *, most=600):
    """Yield what is drawn under a constraint, an end token included; like random weights, only quicker."""
    draw = random.Random(seed)
    for _ in range(most):
        allowed = allowed_tokens(constraint.allowed(), vocabulary)
        ends = [token for token in allowed if _ends(token, vocabulary)]
        token = draw.choice(ends if ends and draw.random() < 0.3 else allowed)
        yield token
        if token in vocabulary.end_tokens:
            return
        constraint.advance(token)


def text_of(constraint, vocabulary, seed):
    tokens = [*walk_through(constraint, vocabulary, seed)]
    if tokens[-1] not in vocabulary.end_tokens:
        return None
    return b"".join(vocabulary.token_bytes(token) for token in tokens[:-1]).decode()


def _ends(token, vocabulary):
    return token in vocabulary.added_tokens or vocabulary.token_bytes(token)[:1] in ENDING


@pytest.fixture(scope="session")
def allowed():
    """The tokens that a mask allows."""
    return allowed_tokens


@pytest.fixture(scope="session")
def walk():
    """Yield the tokens of a random answer, which may be cut off."""
    return walk_through


@pytest.fixture(scope="session")
def said():
    """Return the text of a random answer; ``None`` for one that was cut off."""
    return text_of


# ── Schemas made at random ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def schema_made():
    """Return the schema of a number, the same every time."""
    return made


def record(required, properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def made(number):
    """Return the schema of this number: nested at random, the same every time."""
    draw = random.Random(number)
    return _object(draw, 2) if number % 4 else _value(draw, 2)


def _value(draw, depth):
    plain = [_integer, _number, _text, _enum, lambda _: {"type": "boolean"}, lambda _: {"type": "null"}]
    if depth == 0:
        return draw.choice(plain)(draw)
    deep = [lambda d: _object(d, depth - 1), lambda d: _array(d, depth - 1), lambda d: _union(d, depth - 1)]
    return draw.choice([*plain, *deep])(draw)


def _integer(draw):
    least = draw.randint(-1000, 1000)
    told = {"type": "integer"}
    if draw.random() < 0.6:
        told |= {"minimum": least, "maximum": least + draw.randint(0, 500)}
    return told


def _number(draw):
    least = round(draw.uniform(-50, 50), 2)
    if draw.random() < 0.5:
        return {"type": "number"}
    return {"type": "number", "minimum": least, "maximum": round(least + draw.uniform(0.5, 100), 2)}


def _text(draw):
    least = draw.randint(0, 4)
    return draw.choice(
        [
            {"type": "string", "minLength": least, "maxLength": least + draw.randint(0, 5)},
            {
                "type": "string",
                "pattern": draw.choice(["^[a-z]{1,6}$", "^\\d{2,5}$", "^(?:on|off)$", "^[A-Z][a-z ]{0,5}$"]),
            },
            {"type": "string", "format": draw.choice(["date", "uuid", "ipv4", "date-time"])},
        ]
    )


def _enum(draw):
    return {
        "enum": draw.sample(["a", "b", "two words", "ü", 1, -7, 2.5, None, True, False], draw.randint(1, 4))
    }


def _array(draw, depth):
    least = draw.randint(0, 2)
    return {
        "type": "array",
        "items": _value(draw, depth),
        "minItems": least,
        "maxItems": least + draw.randint(0, 2),
    }


def _union(draw, depth):
    return {"anyOf": [_value(draw, depth) for _ in range(draw.randint(2, 3))]}


def _object(draw, depth):
    names = draw.sample(["id", "name", "kind", "size", "tags", "when", "is ok", "größe"], draw.randint(1, 5))
    required = [name for name in names if draw.random() < 0.7]
    told = record(required, {name: _value(draw, depth) for name in names})
    if draw.random() < 0.2:
        del told["additionalProperties"]
    return told


# ── Real servers ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session", params=FAMILIES)
def served(request, tiny_checkpoints):
    """A server of a random model of each family, with places for sixteen."""
    flags = {"engine": {"dtype": "float32", "batch": 16}, "generation": {"thinking": False}}
    with serve_folders(tiny_checkpoints / FAMILIES[request.param], flags=flags) as running:
        yield running


@pytest.fixture(scope="session")
def openai_client(served):
    with openai.OpenAI(
        base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE_S
    ) as client:
        yield client


@pytest.fixture(scope="session")
def anthropic_client(served):
    with anthropic.Anthropic(
        base_url=served.url, api_key="none", max_retries=0, timeout=PATIENCE_S
    ) as client:
        yield client
