"""Answers as JSON, for keys or for a simple schema that the user gives."""

from __future__ import annotations

import json
from typing import Any

from demo_model.conversation import Reply
from demo_model.drawing import Draw
from demo_model.tasks import values
from demo_model.tasks.exchange import Exchange, worded
from demo_model.words import word_of

_FIELDS: tuple[tuple[str, values.Maker, str], ...] = (
    ("name", values.name, "string"),
    ("city", values.place, "string"),
    ("age", lambda draw: _digits(draw, 1, 99), "integer"),
    (
        "colour",
        lambda draw: values.same(draw.pick(("red", "blue", "green", "black", "white", "yellow"))),
        "string",
    ),
    ("size", lambda draw: _digits(draw, 1, 60), "integer"),
    ("price", lambda draw: _digits(draw, 1, 999), "number"),
    ("date", values.date, "string"),
    ("time", values.time, "string"),
    ("email", values.email, "string"),
    ("code", values.identifier, "string"),
    ("count", lambda draw: _digits(draw, 1, 500), "integer"),
    ("owner", values.name, "string"),
    ("weight", lambda draw: _digits(draw, 1, 900), "number"),
    ("product", values.word, "string"),
    (
        "country",
        lambda draw: values.same(draw.pick(("France", "Italy", "Japan", "Kenya", "Peru", "India", "Chile"))),
        "string",
    ),
)


def _digits(draw: Draw, least: int, most: int) -> values.Value:
    number = draw.count(least, most)
    return values.Value(str(number), number)


def structured(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Ask for JSON."""
    fields = _fields(draw)
    made = {key: make(draw) for key, make, _ in fields}
    meant: dict[str, Any] = {key: value.meant for key, value in made.items()}
    said = ", ".join(
        f"{key}{draw.pick((' ', ': ', ' is ', ' = '))}{value.said}" for key, value in made.items()
    )
    keys = ", ".join(key if draw.chance(0.5) else f'"{key}"' for key in made)
    asked = draw.weighted(
        [
            (3, "Write as JSON: {s}"),
            (2, "Give me a JSON object with the keys {k}: {s}"),
            (2, "Turn this into JSON: {s}"),
            (2, "Extract {k} as JSON from: {s}"),
            (2, "Answer with JSON that fits the schema {j}\n{s}"),
            (1, "{s}\nReply only with a JSON object with {k}."),
        ]
    ).format(s=said, k=keys, j=_schema(fields))
    answer = json.dumps(meant, ensure_ascii=False)
    thought = f"The keys are {', '.join(made)}." if thinking else ""
    return Exchange(
        worded(draw, asked, keep=True),
        Reply(answer, thought=thought, keys=(answer,), skill="json", exact=True),
    )


def _fields(draw: Draw) -> list[tuple[str, values.Maker, str]]:
    chosen = draw.several(_FIELDS, draw.count(1, 4))
    made = [
        (word_of(draw, "nouns"), values.word, "string") if draw.chance(0.25) else field for field in chosen
    ]
    return list({key: (key, make, kind) for key, make, kind in made}.values())


def _schema(fields: list[tuple[str, values.Maker, str]]) -> str:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, _, kind in fields},
        "required": [key for key, _, _ in fields],
    }
    return json.dumps(schema)
