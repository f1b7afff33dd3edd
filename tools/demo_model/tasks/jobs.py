"""A job for a tool: the tool, how the user asks for it, the call that does it, and what comes back.

Jobs come from tools as people write them (``toolbox``) or from tools made up of a verb, a noun and parameters of any
name, so that a schema can only be read, never be remembered.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from demo_model.conversation import Call, Kind, Parameter, Tool
from demo_model.drawing import Draw
from demo_model.tasks import values
from demo_model.tasks.toolbox import Slot, Written, written
from demo_model.tasks.values import Maker, Value
from demo_model.words import any_word, invented, listed, side, word_of


class Job(NamedTuple):
    """A tool at work.

    Attributes:
        tool: as the request has it.
        asked: what the user says.
        call: what does it.
        subject: a value that tells this call from another one of the same tool.
        again: the same tool, asked for something else; nothing where it takes no arguments.
        family: jobs of one family do not stand side by side.
    """

    tool: Tool
    asked: str
    call: Call
    subject: str
    family: str


def job(draw: Draw) -> Job:
    """Return a job of any kind; its tool was never seen by the other side."""
    return written_job(draw) if draw.chance(0.2 if draw.held else 0.45) else made_job(draw)


# ── Tools as people write them ──────────────────────────────────────────────────────────────────────────────────────


def written_job(draw: Draw, known: Written | None = None, tool: Tool | None = None) -> Job:
    """Return a job for a tool of the toolbox; ``tool`` = the same again, asked for something else."""
    chosen = known or draw.pick(written(draw.held))
    if tool is None:
        tool = dress(draw, chosen)
    names = dict(zip(chosen.slots, (each.name for each in tool.parameters), strict=True))
    asked = draw.pick(chosen.asks)
    arguments: dict[str, Any] = {}
    subject = ""
    taken: set[str] = set()
    for key, slot in chosen.slots.items():
        mark = f"{{{key}}}"
        if mark not in asked:
            continue
        value = slot.make(draw)
        while value.said in taken:
            value = slot.make(draw)
        taken.add(value.said)
        asked = asked.replace(mark, value.said)
        arguments[names[key]] = value.meant
        subject = subject or value.said
    asked = asked[0].upper() + asked[1:] if asked[0].islower() and draw.chance(0.7) else asked
    return Job(tool, asked, Call(tool.name, arguments), subject, chosen.names)


def dress(draw: Draw, chosen: Written) -> Tool:
    """Give a tool of the toolbox names and descriptions."""
    style = draw.weighted(_STYLES)
    name = draw.pick(chosen.names.split("|"))
    taken: set[str] = set()
    parameters = []
    for key, slot in chosen.slots.items():
        names = [each for each in slot.names.split("|") if each not in taken] or [key]
        name_of = draw.pick(names)
        taken.add(name_of)
        about = draw.pick((slot.about or "").split("|")) if draw.chance(0.7) else ""
        parameters.append(Parameter(_styled(name_of, style), slot.kind, about, slot.options, slot.required))
    return Tool(_styled(name, style), _sentence(draw, draw.pick(chosen.about.split("|"))), tuple(parameters))


def result_of(draw: Draw, known: str) -> dict[str, Any]:
    """Return what a tool of the toolbox, or a made one, answers with."""
    found = next((each.result for each in (*written(True), *written(False)) if each.names == known), None)
    if found is None:
        keys = draw.several(_RESULTS, draw.count(1, 3))
        return {key: _RESULT_KINDS[draw.pick(("number", "word", "id", "text"))](draw) for key in keys}
    fields = (field.split(":") for field in found.split(";"))
    return {key: _RESULT_KINDS[kind](draw) for key, kind in fields}


# ── Tools that are made up ──────────────────────────────────────────────────────────────────────────────────────────


def made_job(draw: Draw, tool: Tool | None = None) -> Job:
    """Return a job for a tool made up of a verb, a noun and parameters."""
    verb, noun = (
        word_of(draw, "verbs") if draw.chance(0.3) else draw.pick(listed("verbs")),
        word_of(draw, "nouns"),
    )
    if draw.chance(0.2):
        noun = f"{draw.pick(listed('adjectives'))} {noun}"
    features = _features(draw)
    style = draw.weighted(_STYLES)
    parameters = tuple(_parameter(draw, feature, style) for feature in features)
    order = draw.weighted([(8, f"{verb} {noun}"), (2, f"{noun} {verb}"), (1, noun)])
    tool = Tool(_styled(order.replace(" ", "_"), style), _made_about(draw, verb, noun), parameters)
    return _ask_made(draw, tool, features, verb, noun)


class _Feature(NamedTuple):
    """A parameter of a made tool: its words, its values, and whether it must be given."""

    words: str
    kind: Kind
    make: Maker
    options: tuple[str, ...]
    required: bool


def _features(draw: Draw) -> list[_Feature]:
    count = draw.weighted([(1, 0), (5, 1), (5, 2), (3, 3), (1, 4)])
    taken: list[_Feature] = []
    while len(taken) < count:
        made = _feature(draw)
        if not any(made.words in each.words or each.words in made.words for each in taken):
            taken.append(made)
    return taken


def _feature(draw: Draw) -> _Feature:
    required = draw.chance(0.75)
    shape = draw.weighted([(8, "text"), (4, "number"), (4, "options"), (1, "switch")])
    match shape:
        case "number":
            words = draw.pick(_NUMBERED)
            kind: Kind = "integer" if draw.chance(0.7) else "number"
            make: Maker = values.whole if kind == "integer" else values.decimal
            return _Feature(_compound(draw, words), kind, make, (), required)
        case "options":
            options = _options(draw)
            return _Feature(
                _compound(draw, draw.pick(_CHOSEN)),
                "string",
                lambda chosen: values.same(chosen.pick(options)),
                options,
                required,
            )
        case "switch":
            return _Feature(draw.pick(_SWITCHED), "boolean", _switch, (), required)
        case _:
            words, make = draw.pick(_WORDED) if draw.chance(0.7) else (word_of(draw, "nouns"), _any_text)
            return _Feature(_compound(draw, words), "string", make, (), required)


def _compound(draw: Draw, words: str) -> str:
    if not draw.chance(0.25):
        return words
    return f"{draw.pick(_LEADS) if draw.chance(0.6) else word_of(draw, 'nouns')} {words}"


def _options(draw: Draw) -> tuple[str, ...]:
    count = draw.count(2, 5)
    if draw.chance(0.4):
        return draw.pick(_OPTIONS)
    names = [invented(draw) if draw.chance(0.3) else any_word(draw) for _ in range(count)]
    return tuple(dict.fromkeys(names))


def _switch(draw: Draw) -> Value:
    said, meant = draw.pick(
        (("yes", True), ("no", False), ("on", True), ("off", False), ("true", True), ("false", False))
    )
    return Value(said, meant)


def _any_text(draw: Draw) -> Value:
    makers = (
        values.word,
        values.word,
        values.name,
        values.place,
        values.identifier,
        values.date,
        values.text,
    )
    return draw.pick(makers)(draw)


def _parameter(draw: Draw, feature: _Feature, style: str) -> Parameter:
    about = ""
    if draw.chance(0.5):
        about = draw.pick(("The {w}", "{w}", "{W} to use", "The {w} of it", "Which {w}", "Its {w}.")).format(
            w=feature.words, W=feature.words.capitalize()
        )
    return Parameter(
        _styled(feature.words.replace(" ", "_"), style),
        feature.kind,
        about,
        feature.options,
        feature.required,
    )


def _made_about(draw: Draw, verb: str, noun: str) -> str:
    article = "an" if noun[0] in "aeiou" else "a"
    forms = (
        "{V} {a} {n}.",
        "{V} {a} {n} in the system",
        "Use this to {v} {a} {n}.",
        "{V} the {n}",
        "{V} {n}s.",
        "Lets you {v} {a} {n}.",
        "Tool to {v} {a} {n}",
    )
    return "" if draw.chance(0.1) else draw.pick(forms).format(v=verb, V=verb.capitalize(), a=article, n=noun)


def _ask_made(draw: Draw, tool: Tool, features: list[_Feature], verb: str, noun: str) -> Job:
    arguments: dict[str, Any] = {}
    cues, subject = [], ""
    taken: set[str] = set()
    for feature, parameter in zip(features, tool.parameters, strict=True):
        if not feature.required and draw.chance(0.5):
            continue
        value = feature.make(draw)
        while value.said in taken:
            value = feature.make(draw)
        taken.add(value.said)
        arguments[parameter.name] = value.meant
        subject = subject or value.said
        cues.append(_cue(draw, feature, value))
    if draw.chance(0.3):
        draw.rng.shuffle(cues)
    article = draw.pick(("the", "the", "my", "an" if noun[0] in "aeiou" else "a"))
    lead = (
        draw.pick(("", "", "", "Please ", "I want you to ", "I need to ", "Can you ", "Could you please "))
        + f"{verb} {article} {noun}"
    )
    lead = lead[0].upper() + lead[1:]
    joint = draw.pick((" with ", ": ", ", ", " "))
    asked = lead + (joint + draw.pick((", ", " and ", ", ")).join(cues) if cues else "")
    asked += draw.pick((".", ".", "")) if cues and cues[-1][-1] != '"' else "."
    return Job(tool, asked, Call(tool.name, arguments), subject, f"{verb} {noun}")


def _cue(draw: Draw, feature: _Feature, value: Value) -> str:
    """Say which parameter has which value."""
    quoted = (
        f'"{value.said}"'
        if isinstance(value.meant, str) and (" " in value.said or draw.chance(0.2))
        else value.said
    )
    if feature.options and draw.chance(0.3):
        return f"{quoted} {feature.words}"
    if feature.kind == "boolean":
        return f"{feature.words} {quoted}"
    return draw.pick(
        (
            "{w} {v}",
            "{w} {v}",
            "{w}: {v}",
            "{w} = {v}",
            "the {w} {v}",
            "{v} as {w}",
            "{w} set to {v}",
            "the {w} is {v}",
        )
    ).format(w=feature.words, v=quoted)


_STYLES = [(7, "snake"), (2, "camel"), (1, "kebab")]


def _styled(name: str, style: str) -> str:
    head, *rest = name.split("_")
    match style:
        case "camel":
            return head + "".join(part.capitalize() for part in rest)
        case "kebab":
            return "-".join((head, *rest))
        case _:
            return name


def _sentence(draw: Draw, about: str) -> str:
    return "" if draw.chance(0.06) else about


def told(result: dict[str, Any] | str) -> str:
    """Say what a tool answered."""
    if isinstance(result, str):
        return f"The result is: {result}"
    if "error" in result:
        return f"That did not work: {result['error']}"
    said = ", ".join(
        f"the {key.replace('_', ' ')} {_is(key)} {_shown(value)}" for key, value in result.items()
    )
    return f"{said[0].upper()}{said[1:]}."


def _is(key: str) -> str:
    return "are" if key.endswith("s") and not key.endswith(("ss", "us")) else "is"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_RESULT_KINDS: dict[str, Any] = {
    "number": lambda draw: values.decimal(draw).meant,
    "word": lambda draw: any_word(draw),
    "id": lambda draw: values.identifier(draw).meant,
    "text": lambda draw: values.text(draw).meant,
    "time": lambda draw: values.time(draw).meant,
    "date": lambda draw: values.date(draw).meant,
}
_RESULTS = (
    "id",
    "status",
    "name",
    "count",
    "total",
    "price",
    "time",
    "date",
    "place",
    "message",
    "state",
    "code",
    "level",
    "amount",
    "temperature",
    "owner",
    "title",
    "size",
    "rate",
    "score",
    "value",
    "answer",
    "speed",
    "distance",
    "weight",
    "colour",
    "version",
    "user",
    "number",
)
_NUMBERED = (
    "amount",
    "quantity",
    "count",
    "limit",
    "page",
    "duration",
    "distance",
    "speed",
    "temperature",
    "width",
    "height",
    "depth",
    "length",
    "radius",
    "age",
    "year",
    "score",
    "rank",
    "discount",
    "budget",
    "interval",
    "attempts",
    "timeout",
    "threshold",
    "offset",
    "angle",
    "volume",
    "brightness",
    "rating",
    "guests",
    "nights",
    "adults",
    "children",
    "minutes",
    "seconds",
    "hours",
    "days",
    "weeks",
    "percent",
    "degrees",
    "weight",
    "price",
    "size",
    "level",
    "copies",
    "pages",
    "rows",
    "columns",
    "floor",
    "pieces",
    "points",
    "steps",
    "rounds",
    "people",
    "seats",
)
_CHOSEN = (
    "priority",
    "status",
    "mode",
    "unit",
    "format",
    "type",
    "category",
    "style",
    "theme",
    "colour",
    "level",
    "size",
    "kind",
    "direction",
    "method",
    "currency",
    "language",
    "shape",
    "material",
    "flavour",
    "plan",
    "tier",
    "class",
    "state",
    "quality",
    "region",
    "role",
)
_SWITCHED = (
    "urgent",
    "public",
    "private",
    "active",
    "verbose",
    "recursive",
    "force",
    "quiet",
    "express",
    "gift",
    "hidden",
    "loop",
    "shuffle",
    "archived",
)
_WORDED: tuple[tuple[str, Maker], ...] = (
    *(
        (each, values.name)
        for each in (
            "name",
            "customer",
            "owner",
            "recipient",
            "sender",
            "author",
            "doctor",
            "driver",
            "player",
            "assignee",
            "contact",
        )
    ),
    *((each, values.place) for each in ("city", "place", "destination", "origin", "location", "town")),
    *(
        (each, values.text)
        for each in ("title", "message", "subject", "comment", "reason", "description", "note", "text")
    ),
    *((each, values.date) for each in ("date", "day", "deadline", "start", "end")),
    *((each, values.time) for each in ("time", "start time", "end time")),
    *(
        (each, values.identifier)
        for each in ("id", "code", "key", "number", "token", "serial", "plate", "gate")
    ),
    *(
        (each, values.word)
        for each in (
            "label",
            "tag",
            "topic",
            "keyword",
            "brand",
            "model",
            "group",
            "channel",
            "project",
            "query",
        )
    ),
    *((each, values.email) for each in ("email", "address")),
    *((each, values.path) for each in ("path", "file", "folder")),
    *((each, values.link) for each in ("url", "link")),
)
_LEADS = (
    "start",
    "end",
    "max",
    "min",
    "first",
    "last",
    "new",
    "old",
    "target",
    "source",
    "total",
    "main",
    "default",
    "user",
    "customer",
    "item",
)
_OPTIONS = (
    ("low", "medium", "high"),
    ("low", "normal", "high", "urgent"),
    ("open", "closed"),
    ("open", "pending", "closed"),
    ("small", "medium", "large"),
    ("red", "green", "blue"),
    ("json", "xml", "csv"),
    ("pdf", "html", "txt"),
    ("on", "off"),
    ("north", "south", "east", "west"),
    ("left", "right"),
    ("fast", "slow"),
    ("daily", "weekly", "monthly"),
    ("draft", "published", "archived"),
    ("asc", "desc"),
    ("public", "private"),
    ("kg", "lb"),
    ("basic", "pro", "premium"),
)

__all__ = ["Job", "Slot", "job", "made_job", "result_of", "side", "told", "written_job"]
