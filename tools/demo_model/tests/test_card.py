"""The model card says what was measured."""

from demo_model.card import WANTED, card
from demo_model.questions import CATEGORIES
from demo_model.short_mixture import SEEN

FACTS = {
    "parameters": 2_712_396,
    "megabytes": "3.0",
    "layers": 4,
    "hidden": 192,
    "tokens": 7_000_000,
    "seconds": 3600,
    "where": "on 2 processor cores",
    "seen": ["tools"],
    "speed": "200",
    "machine": "on 2 processor cores",
}


def scores(right):
    return {name: {"right": right, "formed": 0.5, "asked": 12} for name in CATEGORIES}


def rows(text):
    cells = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and "%" in line]
    return {name.removeprefix("| "): rest for name, *rest in cells}


def test_every_category_has_its_row():
    told = rows(card({**scores(0.25), "tools": {"right": 0.75, "formed": 1.0, "asked": 12}}, FACTS))
    assert told.keys() == CATEGORIES.keys()
    assert told["tools"][:4] == ["75.0%", "100.0%", "95%", ""]
    assert told["strings"][:4] == ["25.0%", "50.0%", "95%", "no"]


def test_what_is_missed_is_said():
    assert all(f"{name} (50% of" in card(scores(0.5), FACTS) for name in WANTED)
    assert "is reached" in card(scores(1.0), FACTS)


def test_what_is_wanted_and_what_is_trained_are_categories():
    assert {*WANTED, *SEEN} <= CATEGORIES.keys()
