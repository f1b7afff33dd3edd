"""A text has the same tokens, whatever was encoded before it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.loading.sketch_tokenizer import sketch_tokenizer
from mlxp_core.prompting import Tokenizer, beginnings
from mlxp_core.prompting.beginnings import Beginnings

MARKS = {
    "sketch": ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>"),
    "qwen35": ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "<|im_"),
    "gemma4": ("<|turn>", "<turn|>", "<|channel>", "<channel|>", "\n", "\n\n", "\u2581\u2581", "  ", "<|"),
}
PLAIN = (
    "a",
    "the user said",
    " user",
    "\n",
    "  ",
    "12.5",
    "\u00e9\u0301",
    "\U0001f642",
    "\u1100\u1161",
    "<",
    "|>",
)


@pytest.fixture(scope="module", params=MARKS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def tokenizer(kind, request):
    if kind == "sketch":
        return Tokenizer(json.dumps(sketch_tokenizer()).encode())
    return Tokenizer((request.getfixturevalue("shared") / "assets" / kind / "tokenizer.json").read_bytes())


@pytest.fixture(scope="module")
def remembering(tokenizer):
    """Encodes, and remembers all texts of the module, short ones too."""
    before = beginnings.LEAST_LETTERS
    beginnings.LEAST_LETTERS = 0
    yield tokenizer.encode_spans
    beginnings.LEAST_LETTERS = before


@given(data=st.data())
def test_whatever_was_encoded_before_a_text_has_its_own_tokens(kind, tokenizer, remembering, data):
    piece = st.sampled_from([*MARKS[kind], *PLAIN])
    pieces = data.draw(st.lists(piece, max_size=12))
    for _ in range(4):
        text = "".join(pieces)
        assert remembering(text) == tokenizer._encode_spans(text)
        kept = data.draw(st.integers(0, len(pieces)))
        pieces = [*pieces[:kept], *data.draw(st.lists(piece, max_size=6))]


class Counting:
    """Takes each letter for a token, and counts them; ``#`` is cut out."""

    def __init__(self):
        self.letters = 0

    def __call__(self, text):
        self.letters += len(text)
        return [ord(letter) for letter in text], [(place, place + 1) for place in range(len(text))]


def conversation(turns):
    return "".join(f"#{turn:04d} {'said ' * 100}" for turn in range(turns))


def test_a_conversation_is_encoded_once_not_once_a_turn():
    count = Counting()
    known = Beginnings(count, {ord("#"): "#"}, 1)
    for turns in range(4, 41):
        assert known.encode(conversation(turns))[0] == [ord(letter) for letter in conversation(turns)]
    assert count.letters < 3 * len(conversation(40))


def test_memory_has_an_end(monkeypatch):
    monkeypatch.setattr(beginnings, "MOST_LETTERS", 3 * len(conversation(10)))
    known = Beginnings(Counting(), {ord("#"): "#"}, 1)
    for number in range(9):
        known.encode(f"{number}{conversation(10)}"[: len(conversation(10))])
        assert sum(len(each.text) for each in known._known) <= 3 * len(conversation(10))
    assert len(known._known) == 3


def test_where_nothing_is_cut_out_everything_is_encoded():
    count = Counting()
    known = Beginnings(count, {}, 0)
    for _ in range(2):
        known.encode(conversation(10))
    assert count.letters == 2 * len(conversation(10))
