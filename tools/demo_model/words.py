"""The word lists and tables of ``data``: written for this project, of common words and plain facts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from demo_model.drawing import Draw, is_held

DATA = Path(__file__).parent / "data"

_ONSETS = [
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "z",
    "br",
    "cr",
    "dr",
    "fl",
    "gr",
    "kl",
    "pl",
    "sh",
    "st",
    "th",
    "tr",
]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "io"]
_CODAS = ["n", "r", "s", "l", "k", "m", "t", "x", "nd", "rk", "st", ""]


@cache
def listed(name: str) -> tuple[str, ...]:
    """Return the different words of a list."""
    return tuple(dict.fromkeys((DATA / f"{name}.txt").read_text("utf-8").split()))


@cache
def table(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table."""
    lines = (DATA / f"{name}.tsv").read_text("utf-8").splitlines()
    return tuple(tuple(line.split("\t")) for line in lines if line)


@cache
def side(name: str, held: bool) -> tuple[str, ...]:
    """Return the words of a list that belong to the evaluation, or to the training."""
    return tuple(word for word in listed(name) if is_held(word) == held)


def word_of(draw: Draw, name: str) -> str:
    """Return a word of a list that belongs to this side."""
    return draw.pick(side(name, draw.held))


def invented(draw: Draw, least: int = 2, most: int = 3) -> str:
    """Return a word that nobody knows, made of syllables; this side's own."""

    def make() -> str:
        beats = draw.count(least, most)
        body = "".join(draw.pick(_ONSETS) + draw.pick(_VOWELS) for _ in range(beats - 1))
        return body + draw.pick(_ONSETS) + draw.pick(_VOWELS) + draw.pick(_CODAS)

    return draw.fresh(make)


def scramble(draw: Draw, least: int, most: int) -> str:
    """Return random letters; this side's own."""
    return draw.fresh(
        lambda: "".join(draw.pick("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.count(least, most)))
    )


def person(draw: Draw) -> str:
    """Return a name, often one that nobody has."""
    return word_of(draw, "names") if draw.chance(0.6) else invented(draw).capitalize()


def any_word(draw: Draw) -> str:
    """Return a word of any list, of this side."""
    lists = ("nouns", "nouns", "nouns", "verbs", "adjectives", "foods", "common")
    return word_of(draw, draw.pick(lists))


def phrase(draw: Draw, least: int, most: int) -> str:
    """Return some common words in a row; the row is this side's own."""

    def make() -> str:
        words = [draw.pick(listed(draw.pick(_PHRASES))) for _ in range(draw.count(least, most))]
        return " ".join(words)

    return draw.fresh(make)


_PHRASES = ("common", "common", "common", "nouns", "adjectives", "verbs")
