"""Values of arguments: what users write, and what a call must hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from demo_model.drawing import Draw
from demo_model.words import invented, person, phrase, word_of


class Value(NamedTuple):
    """A value: as it is said, and as it stands in the call."""

    said: str
    meant: Any


def same(text: str) -> Value:
    """Return a text that is copied as it is."""
    return Value(text, text)


def whole(draw: Draw, least: int = 1, most: int = 1000) -> Value:
    """Return a whole number; small ones are sometimes written as words."""
    number = draw.count(least, draw.pick((most, min(most, 10), min(most, 100))))
    if 1 <= number <= 12 and draw.chance(0.25):
        return Value(WORDS[number], number)
    return Value(str(number), number)


def decimal(draw: Draw) -> Value:
    """Return a number with a fraction, or a whole one."""
    if draw.chance(0.4):
        return whole(draw)
    places = draw.count(1, 2)
    number = float(f"{draw.count(0, 999)}.{draw.count(1, 10**places - 1):0{places}d}")
    return Value(str(number), number)


WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def date(draw: Draw) -> Value:
    """Return a date as users write it; it is copied."""
    year, month, day = draw.count(2020, 2035), draw.count(1, 12), draw.count(1, 28)
    return same(
        draw.weighted(
            [
                (4, f"{year}-{month:02d}-{day:02d}"),
                (2, draw.pick(DAYS)),
                (2, f"{day} {MONTHS[month - 1]}"),
                (1, f"{MONTHS[month - 1]} {day}"),
                (2, draw.pick(("today", "tomorrow"))),
            ]
        )
    )


def time(draw: Draw) -> Value:
    """Return a time of the day."""
    hour, minute = draw.count(0, 23), draw.pick((0, 0, 15, 30, 45, draw.count(1, 59)))
    return same(
        f"{hour:02d}:{minute:02d}" if draw.chance(0.7) else f"{draw.count(1, 12)} {draw.pick(('am', 'pm'))}"
    )


def email(draw: Draw) -> Value:
    """Return an address."""
    host = f"{invented(draw) if draw.chance(0.5) else word_of(draw, 'nouns')}.{draw.pick(('com', 'org', 'net', 'example'))}"
    return same(f"{person(draw).lower()}@{host}")


def identifier(draw: Draw) -> Value:
    """Return a code of letters and digits."""
    letters = "".join(draw.pick("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(draw.count(1, 3)))
    digits = str(draw.count(10, 99999))
    return same(
        draw.pick((f"{letters}{digits}", f"{letters}-{digits}", digits, f"{letters.lower()}{digits}"))
    )


def path(draw: Draw) -> Value:
    """Return the path of a file."""
    parts = [word_of(draw, "nouns") if draw.chance(0.6) else invented(draw) for _ in range(draw.count(1, 3))]
    root = draw.pick(("/", "", "./", "/home/"))
    return same(root + "/".join(parts) + draw.pick((".txt", ".py", ".md", ".json", ".csv", "")))


def link(draw: Draw) -> Value:
    """Return the address of a page."""
    host = f"{invented(draw)}.{draw.pick(('com', 'org', 'io'))}"
    return same(f"https://{host}" + (f"/{word_of(draw, 'nouns')}" if draw.chance(0.5) else ""))


def place(draw: Draw) -> Value:
    """Return a city, often one that nobody knows."""
    return same(word_of(draw, "cities") if draw.chance(0.65) else invented(draw).capitalize())


def name(draw: Draw) -> Value:
    """Return a person, sometimes with a family name."""
    first = person(draw)
    return same(f"{first} {invented(draw).capitalize()}" if draw.chance(0.3) else first)


def text(draw: Draw) -> Value:
    """Return some words."""
    made = phrase(draw, 2, 6)
    return same(made[0].upper() + made[1:] if draw.chance(0.4) else made)


def word(draw: Draw) -> Value:
    """Return one word."""
    return same(
        invented(draw) if draw.chance(0.4) else word_of(draw, draw.pick(("nouns", "adjectives", "foods")))
    )


Maker = Callable[[Draw], Value]
