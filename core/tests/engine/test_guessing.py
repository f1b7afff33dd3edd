"""What is looked up is what stood there, and guessing never costs more than its share."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.speculation.allowance import SAVED, SHARE, Allowance
from mlxp_core.engine.speculation.lookup import CANDIDATES, FURTHEST, GRAM, Lookup
from mlxp_core.engine.speculation.rows import UNKNOWN_LOOKUP, LookingRow, Prior

TEXTS = st.lists(st.integers(0, 3), max_size=60)


def agreed(text, place):
    """Return how many tokens up to ``place`` are those that the text ends with, up to ``FURTHEST``."""
    count = 0
    while count < min(FURTHEST, place + 1) and text[place - count] == text[len(text) - 1 - count]:
        count += 1
    return count


@given(text=TEXTS, most=st.integers(1, 16))
def test_a_guess_is_what_followed_the_longest_of_the_latest_matches(text, most):
    guess = Lookup(text).guess(most)
    places = [place for place in range(len(text) - 2, -1, -1) if agreed(text, place) >= GRAM][:CANDIDATES]
    best = max((agreed(text, place) for place in places), default=0)
    assert len(guess) == min(most, best)
    latest = next((place for place in places if agreed(text, place) == best), None)
    said = list(text)
    for token in guess:
        latest += 1
        assert token == said[latest]
        said.append(token)


@given(text=TEXTS, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_a_text_may_come_in_parts(text, cuts):
    parts, start = Lookup(()), 0
    for end in sorted({*(cut for cut in cuts if cut < len(text)), len(text)}):
        parts.extend(text[start:end])
        start = end
    assert len(parts) == len(text)
    assert parts.guess(8) == Lookup(text).guess(8)


def decode(allowance, dice, rows, *, plain_s, slope, right, steps, noise=0.0):
    """Decode on paper, all rows guessing whenever that is allowed; return the seconds with and without guesses."""
    spent = without = 0.0
    for _ in range(steps):
        width = allowance.width(rows, {width: rows * (1 + 0.5 * (width - 1)) for width in range(2, 6)})
        tokens = rows * (1 + sum(dice.random() < right for _ in range(width - 1)))
        seconds = plain_s * (1 + slope * (width - 1)) * (1 + noise * dice.random())
        if width == 1:
            allowance.note_plain(rows, seconds)
        else:
            allowance.note_other(rows, tokens, seconds, width=width)
        spent += seconds
        without += plain_s * (1 + noise / 2) * tokens / rows
    return spent, without


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 999),
    rows=st.integers(1, 8),
    slope=st.floats(0.0, 2.0),
    right=st.floats(0.0, 0.1),
    noise=st.sampled_from([0.0, 0.3]),
)
def test_what_never_helps_costs_next_to_nothing(seed, rows, slope, right, noise):
    spent, without = decode(
        Allowance(),
        random.Random(seed),
        rows,
        plain_s=0.01,
        slope=slope,
        right=right,
        steps=2000,
        noise=noise,
    )
    assert spent <= (1 + SHARE + noise / 10) * without + 0.01 * SAVED


def test_what_helps_is_done_nearly_always():
    spent, without = decode(
        Allowance(), random.Random(1), 4, plain_s=0.01, slope=0.1, right=0.9, steps=1000, noise=0.3
    )
    assert spent < 0.4 * without


def test_what_has_begun_to_help_is_found_out():
    allowance, dice = Allowance(), random.Random(2)
    decode(allowance, dice, 1, plain_s=0.01, slope=0.1, right=0.0, steps=2000)
    spent, without = decode(allowance, dice, 1, plain_s=0.01, slope=0.1, right=0.9, steps=2000)
    assert spent < 0.6 * without


def guesses(orders, prompt, answer, trust=UNKNOWN_LOOKUP):
    """Have a row say an answer token by token; return what it would guess in front of each."""
    sequence = Sequence(0, orders(prompt=prompt, max_tokens=len(answer) + 9).orders[0], 0.0)
    row, found = LookingRow(prompt, Prior(trust)), []
    for token in answer:
        found.append(row.guess(sequence, 8))
        sequence.taken.append(token)
    return found


@given(text=st.lists(st.integers(1, 999), min_size=9, max_size=60, unique=True))
def test_what_stood_nowhere_is_never_guessed(orders, text):
    assert not any(guesses(orders, text[:8], text[8:]))


@given(seed=st.integers(0, 99))
def test_a_text_that_seems_to_repeat_itself_is_hardly_ever_guessed(orders, seed):
    """A dozen tokens in random order: any three of them have always stood there before."""
    dice = random.Random(seed)
    text = dice.choices(range(1, 13), k=2500)
    assert sum(map(bool, guesses(orders, text[:500], text[500:]))) < 0.01 * 2000


@given(text=st.lists(st.integers(1, 999), min_size=20, max_size=60, unique=True), other=st.integers(0, 99))
def test_what_repeats_itself_is_guessed_once_it_was_right_on_paper(orders, text, other):
    """Three tokens must agree, some more be foreseen; what comes then is guessed until it is wrong again and again."""
    found = guesses(orders, text, text)
    first = next(place for place, guess in enumerate(found) if guess)
    assert first <= GRAM + 3
    assert all(guess[0] == token for guess, token in zip(found[first:-1], text[first:], strict=False))
    news = [1000 + (7 * place + other) % 97 for place in range(12)]
    misled = [part for new in news for part in (*text[:GRAM], new)]
    assert not guesses(orders, text, [*misled, *text[:GRAM], 0])[-1]
