"""Templates that need no model: what is there already, in the shape of rows."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.importing import imported
from mlxp_lab.datasets.tables import Format
from mlxp_lab.generating.asking import Ask, Dropped, said
from mlxp_lab.generating.template import Field, Inputs, Row, Task, Template, bad

_MARK = re.compile(r"^\s*(?P<mark>[QqAa])\s*:\s?(?P<rest>.*)$")
_BLOCK = re.compile(r"^(?=(?:async\s+def|def|class)\s)", re.MULTILINE)
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_LEAST_LINES = 4


def _pairs(inputs: Inputs) -> Sequence[Task]:
    """Return questions with their answers: each from its ``Q:`` or ``A:`` to the next, blank lines and all."""
    found: list[tuple[str, list[str]]] = []
    for number, line in enumerate(inputs.text("pairs_text").splitlines(), start=1):
        mark = _MARK.match(line)
        if mark is not None:
            found.append((mark["mark"].upper(), [mark["rest"]]))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise bad("pairs_text", f"line {number} belongs to no question; begin with Q:")
    if "".join(letter for letter, _ in found) != "QA" * (len(found) // 2):
        raise bad("pairs_text", "each Q: must be followed by one A:, and each A: by the next Q:")
    told = iter(["\n".join(lines).strip() for _, lines in found])
    pairs = zip(told, told, strict=True)
    return _ready([{"messages": [said("user", asked), said("assistant", answer)]} for asked, answer in pairs])


def _preferences(inputs: Inputs) -> Sequence[Task]:
    return _imported("csv_text", inputs.text("csv_text"), "csv", {})


def _conversion(inputs: Inputs) -> Sequence[Task]:
    columns = {"user": inputs.text("user_key"), "assistant": inputs.text("assistant_key")}
    return _imported("input_jsonl", inputs.text("input_jsonl"), "jsonl", columns)


def _imported(field: str, text: str, kind: Format, columns: Mapping[str, str]) -> Sequence[Task]:
    """Return the rows of a text; records that are none are dropped, each with its fault."""
    try:
        found = imported(text.encode(), kind, columns)
    except BadRequest as error:
        raise bad(field, error.message) from error
    if not found.lines:
        raise bad(
            field, f"no rows: line {found.faults[0][0]}: {found.faults[0][1]}" if found.faults else "no rows"
        )
    rows = [msgspec.json.decode(line, type=dict[str, Any]) for line in found.lines]
    faults = [Dropped("no row", f"line {number}: {fault}") for number, fault in found.faults]
    return _ready([*rows, *faults])


def _code(inputs: Inputs) -> Sequence[Task]:
    folder = _folder(inputs.text("src_dir"))

    def task(_: Ask) -> Iterator[Row | Dropped]:
        dice = random.Random(inputs.seed)  # noqa: S311  # the same for everybody, on purpose
        most = inputs.number("max_pairs")
        for count, row in enumerate(_cut_blocks(folder, dice)):
            if most and count >= most:
                return
            yield row

    return [task]


def _folder(path: str) -> Path:
    try:
        folder = Path(path).expanduser()
        there = folder.is_dir()
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a character 0
        there = False
    if not there:
        raise bad("src_dir", f"{path[:200]!r} is no folder")
    return folder


def _cut_blocks(folder: Path, dice: random.Random) -> Iterator[Row]:
    """Yield functions and classes, cut between two lines of their middle half."""
    for path in _sources(folder):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeError):  # not ours to read, or in an encoding of its own
            continue
        for block in _BLOCK.split(text)[1:]:
            lines = block.rstrip().splitlines(keepends=True)
            if len(lines) < _LEAST_LINES:
                continue
            cut = dice.randint(max(1, len(lines) // 4), max(1, 3 * len(lines) // 4))
            yield {"prompt": "".join(lines[:cut]), "completion": "".join(lines[cut:])}


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the Python files below a folder in order, without hidden ones and what was installed there."""
    for place, inside, names in os.walk(folder):
        inside[:] = sorted(name for name in inside if not name.startswith(".") and name not in _SKIPPED)
        yield from (Path(place) / name for name in sorted(names) if name.endswith(".py"))


def _ready(rows: Sequence[Row | Dropped]) -> Sequence[Task]:
    return [lambda _: iter(rows)]


TEMPLATES = (
    Template(
        name="sft_qa_pairs",
        label="Questions and answers",
        summary="Conversations of one question and one answer, from a text with Q: and A:.",
        form="chat",
        needs_model=False,
        fields=(
            Field(
                name="pairs_text",
                label="Questions and answers",
                required=True,
                hint="Q: ... and A: ... in turn",
            ),
        ),
        plan=_pairs,
    ),
    Template(
        name="dpo_pref_pairs",
        label="Preferences",
        summary="Prompts with a good and a worse answer, from a table.",
        form="preference",
        needs_model=False,
        fields=(
            Field(
                name="csv_text",
                label="Table",
                required=True,
                hint="CSV with columns prompt, chosen, rejected",
            ),
        ),
        plan=_preferences,
    ),
    Template(
        name="code_completion",
        label="Code, completed",
        summary="Functions and classes of a folder's Python files, cut in the middle.",
        form="completion",
        needs_model=False,
        fields=(
            Field(
                name="src_dir",
                label="Folder",
                type="line",
                required=True,
                hint="on the machine of the server",
            ),
            Field(name="max_pairs", label="Most rows", type="number", default=500, hint="0 = all"),
        ),
        plan=_code,
    ),
    Template(
        name="format_conversion",
        label="Lines with other keys",
        summary="Conversations from JSON lines that have a question and an answer under other names.",
        form="chat",
        needs_model=False,
        fields=(
            Field(name="input_jsonl", label="JSON lines", required=True, hint="one object a line"),
            Field(name="user_key", label="Key of the question", type="line", default="input"),
            Field(name="assistant_key", label="Key of the answer", type="line", default="output"),
        ),
        plan=_conversion,
    ),
)
