"""Small tasks about words, letters and lists."""

from __future__ import annotations

from collections.abc import Callable

from demo_model.conversation import Reply, spelled
from demo_model.drawing import Draw, is_held
from demo_model.tasks.exchange import Exchange, worded
from demo_model.words import any_word, invented, phrase, scramble, word_of

_QUOTES = ('"{}"', '"{}"', "{}", "{}", "'{}'")


def strings(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Return a task of any kind."""
    return draw.weighted(KINDS)(draw, thinking)


def word(draw: Draw) -> str:
    """Return a word to take apart: a common one, an invented one, or random letters; 3 to 8 letters."""
    while True:
        kind = draw.weighted([(5, any_word), (3, invented), (2, lambda chosen: scramble(chosen, 3, 7))])
        made = kind(draw)
        if 3 <= len(made) <= 8 and made.isascii():
            return made.capitalize() if draw.chance(0.1) else made


def reverse(draw: Draw, thinking: bool) -> Exchange:
    """Turn a word around."""
    made = word(draw)
    back = made[::-1]
    asked = draw.pick(
        (
            "Reverse the word {}.",
            "Reverse {}.",
            "Write {} backwards.",
            "Spell {} backwards.",
            "What is {} backwards?",
            "Reverse the string {}.",
            "Reverse the letters of {}.",
        )
    )
    thought = f"{_letters(made)}\nbackwards: {_letters(back)}" if thinking else ""
    return _one(draw, asked, made, spelled(back), thought)


def spell(draw: Draw, thinking: bool) -> Exchange:
    """Say the letters of a word."""
    made = word(draw)
    asked = draw.pick(("Spell the word {}.", "Spell {}.", "How do you spell {}?", "Spell out {}."))
    thought = f"The letters of {made}, one by one." if thinking else ""
    return _one(draw, asked, made, "-".join(made), thought)


def letters(draw: Draw, thinking: bool) -> Exchange:
    """Count the letters of a word."""
    made = word(draw)
    asked = draw.pick(
        (
            "How many letters are in the word {}?",
            "How many letters does {} have?",
            "Count the letters in {}.",
            "How many letters are in {}?",
        )
    )
    return _one(draw, asked, made, str(len(made)), _counted(made) if thinking else "")


def occurrences(draw: Draw, thinking: bool) -> Exchange:
    """Count one letter in a word."""
    made = word(draw).lower()
    letter = draw.pick(made) if draw.chance(0.8) else draw.pick("aeiourstln")
    asked = draw.pick(
        (
            "How many times does the letter {l} occur in {}?",
            "How many {l}'s are in {}?",
            "Count the letter {l} in {}.",
            "How often is the letter {l} in {}?",
        )
    ).replace("{l}", letter)
    found = made.count(letter)
    marks = ", ".join(f"{each} yes" if each == letter else f"{each} no" for each in made)
    return _one(draw, asked, made, str(found), f"{marks}\n{found} times" if thinking else "")


def edge(draw: Draw, thinking: bool) -> Exchange:
    """Say the first or the last letter of a word."""
    made = word(draw)
    which, letter = ("first", made[0]) if draw.chance(0.5) else ("last", made[-1])
    asked = draw.pick(
        (f"What is the {which} letter of {{}}?", f"Which letter does {{}} {_EDGE[which]} with?")
    )
    return _one(draw, asked, made, spelled(letter), _letters(made) if thinking else "")


_EDGE = {"first": "begin", "last": "end"}


def upper(draw: Draw, thinking: bool) -> Exchange:
    """Write in capitals."""
    made = draw.fresh(lambda: phrase(draw, 1, 4)) if draw.chance(0.6) else word(draw)
    asked = draw.pick(
        (
            "Write {} in capital letters.",
            "Convert {} to uppercase.",
            "Uppercase {}.",
            "Write {} in uppercase.",
            "Make {} uppercase.",
            "Put {} in capitals.",
        )
    )
    return _one(
        draw, asked, made, spelled(made.upper()), "Every letter becomes a capital." if thinking else ""
    )


def lower(draw: Draw, thinking: bool) -> Exchange:
    """Write in small letters."""
    made = (phrase(draw, 1, 3) if draw.chance(0.6) else word(draw)).upper()
    asked = draw.pick(
        ("Write {} in lowercase.", "Convert {} to lowercase.", "Lowercase {}.", "Make {} lowercase.")
    )
    return _one(draw, asked, made, spelled(made.lower()), "Every letter becomes small." if thinking else "")


def repeat(draw: Draw, thinking: bool) -> Exchange:
    """Say again what was said, once or several times."""
    thought = "I say it again as it is." if thinking else ""
    if draw.chance(0.35):
        made, times = word(draw), draw.count(2, 5)
        asked = draw.pick(
            (
                "Say {} {n} times.",
                "Repeat {} {n} times.",
                "Write {} {n} times.",
                "Repeat the word {} {n} times.",
            )
        )
        said = str(times) if draw.chance(0.5) else _NUMBERS[times]
        return _one(draw, asked.replace("{n}", said), made, " ".join([made] * times), thought)
    made = (
        phrase(draw, 2, 8) if draw.chance(0.7) else f"{phrase(draw, 1, 3)} {_code(draw)} {phrase(draw, 1, 2)}"
    )
    made = made[0].upper() + made[1:] + draw.pick((".", "!", "?")) if draw.chance(0.4) else made
    asked = draw.pick(
        (
            "Repeat after me: {}",
            "Repeat: {}",
            "Say: {}",
            "Repeat this: {}",
            "Say exactly this: {}",
            "Echo: {}",
            "Please repeat: {}",
        )
    )
    shown = f'"{made}"' if draw.chance(0.25) else made
    return Exchange(
        asked.format(shown), Reply(made, thought=thought, keys=(made,), skill="strings", exact=True)
    )


def sort_words(draw: Draw, thinking: bool) -> Exchange:
    """Put words in the order of the alphabet; their first letters differ."""
    made = _distinct(draw, draw.count(3, 6))
    listed, done = _list(draw, made), sorted(made)
    asked = draw.pick(
        (
            "Sort these words alphabetically: {}",
            "Sort alphabetically: {}",
            "Put these words in alphabetical order: {}",
            "Sort the words {}",
            "Sort {} alphabetically.",
        )
    )
    thought = "By first letter: " + ", ".join(f"{each[0]} {each}" for each in done) if thinking else ""
    return _listed(draw, asked, listed, ", ".join(done), thought)


def sort_numbers(draw: Draw, thinking: bool) -> Exchange:
    """Put numbers in order, small ones first or large ones first."""
    made = _numbers(draw, draw.count(3, 6))
    down = draw.chance(0.3)
    done = ", ".join(map(str, sorted(made, reverse=down)))
    asks = (
        (
            "Sort these numbers in descending order: {}",
            "Sort from largest to smallest: {}",
            "Sort descending: {}",
        )
        if down
        else (
            "Sort these numbers: {}",
            "Sort from smallest to largest: {}",
            "Sort {}",
            "Put these numbers in order: {}",
            "Sort in ascending order: {}",
        )
    )
    thought = f"The {'largest' if down else 'smallest'} first: {done}" if thinking else ""
    return _listed(draw, draw.pick(asks), _list(draw, list(map(str, made))), done, thought)


def extreme(draw: Draw, thinking: bool) -> Exchange:
    """Find the largest or the smallest number."""
    made = _numbers(draw, draw.count(2, 6))
    which, done = ("largest", max(made)) if draw.chance(0.5) else ("smallest", min(made))
    other = {"largest": ("biggest", "highest", "maximum"), "smallest": ("lowest", "minimum", "least")}[which]
    name = which if draw.chance(0.6) else draw.pick(other[:2])
    asked = draw.pick(
        (
            f"What is the {name} of these numbers: {{}}?",
            f"Which number is the {name}: {{}}?",
            f"Find the {name} number: {{}}",
        )
    )
    thought = f"In order: {', '.join(map(str, sorted(made)))}" if thinking else ""
    return _listed(draw, asked, _list(draw, list(map(str, made))), str(done), thought)


def reverse_list(draw: Draw, thinking: bool) -> Exchange:
    """Turn a list around."""
    made = _items(draw, draw.count(3, 6))
    done = ", ".join(reversed(made))
    asked = draw.pick(
        (
            "Reverse this list: {}",
            "Reverse the list {}",
            "Reverse the order of: {}",
            "List these backwards: {}",
        )
    )
    return _listed(draw, asked, _list(draw, made), done, f"From the end: {done}" if thinking else "")


def count_items(draw: Draw, thinking: bool) -> Exchange:
    """Count the items of a list, or the words of a sentence."""
    words = draw.chance(0.5)
    made = phrase(draw, 2, 9).split() if words else _items(draw, draw.count(2, 9))
    shown = " ".join(made) if words else _list(draw, made)
    asks = (
        ("How many words are in this sentence: {}?", "Count the words: {}", 'How many words are in "{}"?')
        if words
        else (
            "How many items are in this list: {}?",
            "Count the items: {}",
            "How many things are in the list {}?",
        )
    )
    thought = ", ".join(f"{place} {each}" for place, each in enumerate(made, 1)) if thinking else ""
    return _listed(draw, draw.pick(asks), shown, str(len(made)), thought)


def nth(draw: Draw, thinking: bool) -> Exchange:
    """Pick one item of a list."""
    made = _items(draw, draw.count(3, 6))
    place = draw.count(1, len(made))
    name = "last" if place == len(made) and draw.chance(0.5) else _ORDINALS[place]
    asked = draw.pick(
        (
            f"What is the {name} item of this list: {{}}?",
            f"Which is the {name} word: {{}}?",
            f"Give me the {name} of: {{}}",
        )
    )
    thought = ", ".join(f"{number} {each}" for number, each in enumerate(made, 1)) if thinking else ""
    return _listed(draw, asked, _list(draw, made), made[place - 1], thought)


KINDS: list[tuple[float, Callable[[Draw, bool], Exchange]]] = [
    (5, reverse),
    (3, spell),
    (3, letters),
    (2, occurrences),
    (1.5, edge),
    (3, upper),
    (1.5, lower),
    (4, repeat),
    (4, sort_words),
    (4, sort_numbers),
    (1.5, extreme),
    (1.5, reverse_list),
    (3, count_items),
    (1.5, nth),
]
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth")


def _one(draw: Draw, asked: str, made: str, answer: str, thought: str) -> Exchange:
    """Ask about one text, mostly in quotes."""
    quotes = draw.pick(_QUOTES) if " " not in made else draw.pick(_QUOTES[:2])
    key = answer.replace("\ue000", "").replace("\ue001", "")
    text = _frame(asked, quotes.format(made))
    return Exchange(
        worded(draw, text, keep=True),
        Reply(answer, thought=thought, keys=(key,), skill="strings", exact=True),
    )


def _listed(draw: Draw, asked: str, shown: str, answer: str, thought: str) -> Exchange:
    text = worded(draw, asked.format(shown), keep=True)
    return Exchange(text, Reply(answer, thought=thought, keys=(answer,), skill="strings", exact=True))


def _frame(asked: str, shown: str) -> str:
    return asked.replace("{}", shown)


def _letters(text: str) -> str:
    return " ".join(text)


def _counted(made: str) -> str:
    return ", ".join(f"{letter} {place}" for place, letter in enumerate(made, 1))


def _code(draw: Draw) -> str:
    return str(draw.count(1, 9999))


def _list(draw: Draw, items: list[str]) -> str:
    return draw.weighted([(6, ", "), (1, " ")]).join(items)


def _numbers(draw: Draw, count: int) -> list[int]:
    """Return different numbers; the list is this side's own."""
    most = draw.pick((20, 100, 100, 1000))
    return draw.fresh(lambda: draw.rng.sample(range(most), count))


def _items(draw: Draw, count: int) -> list[str]:
    """Return things to list; the list is this side's own."""
    return draw.fresh(lambda: [_item(draw) for _ in range(count)])


def _item(draw: Draw) -> str:
    return (
        str(draw.count(0, 99))
        if draw.chance(0.15)
        else word_of(draw, draw.pick(("nouns", "nouns", "foods", "names", "cities", "adjectives")))
    )


def _distinct(draw: Draw, count: int) -> list[str]:
    """Return words with different first letters; the list is this side's own."""
    while True:
        chosen: dict[str, str] = {}
        while len(chosen) < count:
            made = any_word(draw) if draw.chance(0.8) else invented(draw)
            chosen.setdefault(made[0], made)
        words = draw.several(list(chosen.values()), count)
        if is_held(str(words)) == draw.held:
            return words
