"""Texts to measure on, as rows of tokens: the lab's own, or a file of the user's.

A file has one JSON object a line, ``{"domain": ..., "text": ...}`` or ``{"domain": ..., "messages": [...]}``. What is
measured on is never what was allocated by: there are two files, one to calibrate with and one that is held out.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from mlxp_core.errors import BadRequest
from mlxp_core.types import GenerateRequest, Message, Text
from mlxp_core.workshop import Frontend
from mlxp_lab.jobs import JobFailed

CALIBRATION = "calibration.jsonl"
HELD_OUT = "held_out.jsonl"
_SEED = 42


class Turn(Struct, frozen=True):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Sample(Struct, frozen=True):
    """One line of a file."""

    domain: str = ""
    text: str | None = None
    messages: tuple[Turn, ...] = ()


def own_samples(name: str) -> list[Sample]:
    """Return the lab's own texts."""
    return _parsed(files("mlxp_lab.quantize").joinpath("texts", name).read_bytes(), name)


def samples_in(path: Path) -> list[Sample]:
    """Return the texts of a file.

    Raises:
        JobFailed: it cannot be read, or a line is wrong; says which.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JobFailed(f"the texts {path} cannot be read: {error.strerror or error}") from error
    return _parsed(content, path.name)


def rows_of(samples: Sequence[Sample], frontend: Frontend, *, rows: int, tokens: int) -> list[list[int]]:
    """Return rows of tokens: all texts in one line, cut into pieces, in an order that is always the same.

    Args:
        samples: the texts; conversations are told as the model's template tells them.
        frontend: of the model.
        rows: how many at most.
        tokens: of each.

    Raises:
        JobFailed: the texts are too short for one row.
    """
    line = [token for sample in samples for token in _encoded(sample, frontend)]
    starts = list(range(0, len(line) - tokens + 1, tokens))
    if not starts:
        raise JobFailed(f"the texts have {len(line)} tokens; that is less than one row of {tokens}")
    random.Random(_SEED).shuffle(starts)  # noqa: S311  # the same for everybody, on purpose
    begin = frontend.tokenizer.encode("", special=True)  # what a text begins with, if anything
    return [[*begin, *line[start : start + tokens]][:tokens] for start in starts[:rows]]


def _encoded(sample: Sample, frontend: Frontend) -> list[int]:
    if sample.text is not None:
        return [*frontend.tokenizer.encode(sample.text), *frontend.tokenizer.encode("\n\n")]
    told = tuple(Message(turn.role, (Text(turn.content),)) for turn in sample.messages)
    if frontend.template is not None:
        try:
            return list(frontend.prepare(GenerateRequest(id="sample", model="", prompt=told)).tokens)
        except BadRequest:  # the template has no place for one of the roles
            pass
    plain = "\n\n".join(f"[{turn.role}]: {turn.content}" for turn in sample.messages)
    return frontend.tokenizer.encode(plain)


def _parsed(content: bytes, name: str) -> list[Sample]:
    samples: list[Sample] = []
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            sample = msgspec.json.decode(line, type=Sample)
        except msgspec.MsgspecError as error:
            raise JobFailed(f"{name}, line {number}: {error}") from error
        if sample.text is None and not sample.messages:
            raise JobFailed(f"{name}, line {number}: it has neither text nor messages")
        samples.append(sample)
    return samples
