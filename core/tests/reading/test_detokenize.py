"""Tokens to text, one at a time."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlxp_core.reading import Detokenizer

CALM = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
REPLACEMENT = "\ufffd"


def pieces_of(tokenizer, tokens):
    detokenizer = Detokenizer(tokenizer)
    return [*(detokenizer.feed(token) for token in tokens), detokenizer.flush()]


def check_equal_to_decoding(tokenizer, tokens):
    pieces = pieces_of(tokenizer, tokens)
    assert "".join(pieces) == tokenizer.decode(tokens, special=False)


@CALM
@given(data=st.data())
def test_any_tokens_give_what_decoding_them_at_once_gives(made_tokenizer, data):
    tokens = data.draw(st.lists(st.integers(0, made_tokenizer.size + 3), max_size=24))
    check_equal_to_decoding(made_tokenizer, tokens)


@pytest.fixture(scope="session")
def odd_tokens(real_tokenizer):
    """Tokens that are a single byte, and those that are cut out of the text first."""
    bytes_ = (token for token in range(real_tokenizer.size) if len(real_tokenizer.token_bytes(token)) == 1)
    return [*itertools.islice(bytes_, 600), *real_tokenizer.added_tokens]


@CALM
@given(data=st.data())
def test_real_tokenizers_too(real_tokenizer, odd_tokens, data):
    token = st.integers(0, real_tokenizer.size + 3) | st.sampled_from(odd_tokens)
    check_equal_to_decoding(real_tokenizer, data.draw(st.lists(token, max_size=24)))


@CALM
@given(text=st.text(max_size=40))
def test_text_comes_back_character_by_whole_character(real_tokenizer, text):
    tokens = real_tokenizer.encode(text)
    pieces = pieces_of(real_tokenizer, tokens)
    assert "".join(pieces) == real_tokenizer.decode(tokens, special=False)
    if REPLACEMENT not in text:
        assert not any(REPLACEMENT in piece for piece in pieces)


def test_half_a_character_is_held_back(sketch):
    tokens = sketch.encode("a🍜b")
    assert pieces_of(sketch, tokens) == ["a", "", "", "", "🍜", "b", ""]


def test_bytes_that_become_no_character_show_as_soon_as_that_is_certain(sketch):
    first, *_ = sketch.encode("🍜")
    letter, *_ = sketch.encode("a")
    assert pieces_of(sketch, [first, letter]) == ["", f"{REPLACEMENT}a", ""]
    assert pieces_of(sketch, [first]) == ["", REPLACEMENT]


@pytest.mark.parametrize(("data", "text"), [("🍜é".encode(), "🍜é"), (b"\xf0\x9f", REPLACEMENT * 2)])
def test_a_run_of_byte_pieces_is_judged_when_it_ends(byte_pieces, data, text):
    tokenizer = byte_pieces
    tokens = [tokenizer.token_id(f"<0x{byte:02X}>") for byte in data]
    letter = tokenizer.token_id("a")
    assert pieces_of(tokenizer, [*tokens, letter]) == ["" for _ in data] + [f"{text}a", ""]


def test_special_tokens_stand_for_nothing_even_within_a_character(sketch):
    first, *others = sketch.encode("é")
    assert "".join(pieces_of(sketch, [first, sketch.token_id("<s>"), *others])) == "é"
