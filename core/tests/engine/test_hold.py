"""What a row may draw: free thinking, a forced end of it, then its shape."""

from types import SimpleNamespace

import pytest

from mlxp_core.contracts import ThinkingFormat
from mlxp_core.engine import Order
from mlxp_core.engine.hold import Hold
from mlxp_core.prompting import Prompt
from mlxp_core.reading import Reader, Thought
from mlxp_core.types import GenerateRequest, OutputShape, Sampling

OPEN, CLOSE, NEWLINE, END, A, B, WORD = range(7)
TEXTS = {OPEN: "<t>", CLOSE: "</t>", NEWLINE: "\n", END: "<e>", A: "a", B: "b", WORD: "word"}
SHAPE = OutputShape("ab")
ENDLESS = frozenset({OPEN, CLOSE, NEWLINE, A, B, WORD})


class Table:
    def __init__(self):
        self.added_tokens = self.special_tokens = {OPEN: "<t>", CLOSE: "</t>", END: "<e>"}

    def token_id(self, text):
        return next((token for token, known in TEXTS.items() if known == text), None)

    def token_bytes(self, token):
        return b"" if token in self.special_tokens else TEXTS[token].encode()

    def decode(self, tokens, *, special=True):
        return "".join(TEXTS[token] for token in tokens)


class Alternating:
    """Allows ``a`` and ``b`` in turn, and remembers what it was told."""

    def __init__(self):
        self.taken = []

    def allowed(self):
        return bytes([1 << (A, B)[len(self.taken) % 2]])

    def advance(self, token):
        self.taken.append(token)


def bits(*tokens):
    return bytes([sum(1 << token for token in tokens)])


@pytest.fixture
def row():
    """Make a row, and draw for it as an engine does."""

    def make(*, inside=False, constraint=None, **thought):
        request = GenerateRequest(
            id="r",
            model="m",
            prompt=(1,),
            max_tokens=99,
            sampling=Sampling(seed=0),
            output=OutputShape() if constraint is None else SHAPE,
        )
        reader = Reader(
            request,
            table=Table(),
            end_tokens=frozenset({END}),
            thinking=ThinkingFormat(name="t", open="<t>", close="</t>"),
            inside_thinking=inside,
        )
        known = {"closing": (NEWLINE, CLOSE), "gap": (NEWLINE,), "endless": bits(*ENDLESS), **thought}
        order = Order(
            request=request,
            prompt=Prompt(tokens=(1,)),
            reader=reader,
            model="m",
            sink=print,
            constraint=constraint,
            thought=Thought(**known),
        )
        hold = Hold(order)

        def may():
            mask = hold.mask()
            return None if mask is None else {token for token in TEXTS if mask()[0] >> token & 1}

        def draw(*tokens):
            for token in tokens:
                allowed = may()
                assert allowed is None or token in allowed
                reader.feed(token)
                hold.take(token)

        return SimpleNamespace(may=may, draw=draw, waits=hold.waits, reader=reader)

    return make


def test_a_row_without_shape_or_budget_is_free_and_waits_for_nothing(row):
    free = row(inside=True)
    free.draw(A, CLOSE, WORD)
    assert (free.may(), free.waits(0), free.waits(5)) == (None, False, False)


def test_a_shape_holds_from_the_first_token_where_nothing_is_thought(row):
    rule = Alternating()
    held = row(constraint=rule)
    assert held.waits(0)
    assert held.may() == {A}
    held.draw(A, B)
    assert (rule.taken, held.may()) == ([A, B], {A})


def test_a_shape_holds_from_the_end_of_thinking_on_and_thinking_must_not_end_the_answer(row):
    rule = Alternating()
    held = row(constraint=rule, inside=True)
    assert held.may() == ENDLESS
    held.draw(WORD, B, CLOSE)
    assert (rule.taken, held.may()) == ([], {A, NEWLINE})
    held.draw(A)
    assert (rule.taken, held.may()) == ([A], {B})


def test_one_token_of_newlines_behind_thinking_is_no_part_of_the_shape(row):
    rule = Alternating()
    held = row(constraint=rule, inside=True)
    held.draw(CLOSE, NEWLINE)
    assert (rule.taken, held.may()) == ([], {A})
    held.draw(A)
    assert rule.taken == [A]


def test_a_model_may_open_its_thinking_in_place_of_the_first_token_and_then_no_more(row):
    rule = Alternating()
    held = row(constraint=rule, opening=OPEN)
    assert held.may() == {A, OPEN}
    held.draw(OPEN)
    assert held.may() == ENDLESS
    held.draw(WORD, CLOSE)
    assert held.may() == {A, NEWLINE}
    held.draw(A)
    assert held.may() == {B}
    other = row(constraint=Alternating(), opening=OPEN)
    other.draw(A)
    assert other.may() == {B}


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("budget", range(4))
def test_a_budget_ends_thinking_with_its_tokens(row, budget, constrained):
    held = row(inside=True, budget=budget, constraint=Alternating() if constrained else None)
    held.draw(*[WORD] * budget)
    assert held.may() == {NEWLINE}
    held.draw(NEWLINE)
    assert held.may() == {CLOSE}
    held.draw(CLOSE)
    assert held.may() == ({A, NEWLINE} if constrained else None)
    assert held.reader.thinking_tokens == budget + 2


def test_thinking_that_ends_within_its_budget_is_left_alone(row):
    free = row(inside=True, budget=3)
    free.draw(WORD, CLOSE)
    assert [free.waits(unread) for unread in range(9)] == [False] * 9
    free.draw(WORD, OPEN, WORD, WORD, WORD)
    assert free.may() is None


@pytest.mark.parametrize("taken", range(3))
def test_a_row_draws_ahead_until_the_budget_might_be_overstepped(row, taken):
    free = row(inside=True, budget=4)
    free.draw(*[WORD] * taken)
    assert [free.waits(unread) for unread in range(6)] == [taken + unread >= 4 for unread in range(6)]


def test_a_budget_holds_for_thinking_that_the_model_opens(row):
    free = row(budget=2, opening=OPEN)
    assert [free.waits(unread) for unread in range(3)] == [False, False, True]
    free.draw(OPEN, WORD)
    assert free.may() == {NEWLINE}
    other = row(budget=2, opening=OPEN)
    other.draw(WORD)
    assert not other.waits(9)
