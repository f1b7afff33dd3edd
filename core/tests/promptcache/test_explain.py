"""Why a prompt was not taken from the cache, or not all of it."""

from mlxp_core.promptcache import explain, off

TEXTS = {5: " blue", 6: " red"}


def told(key=(1, 2, 3, 4, 5, 9), **found):
    usual = {"cached": 0, "shared": 0, "other": None, "known": True, "lost": False}
    return explain(tuple(key), message_ends=(2, 4), spell=TEXTS.__getitem__, **{**usual, **found})


def test_an_empty_cache_says_so():
    assert told(known=False).cause == "empty"
    assert told(known=False, lost=True).cause == "evicted"


def test_a_prompt_that_goes_on_from_all_that_is_known_misses_nothing():
    found = told(cached=4, shared=4)
    assert (found.cause, found.cached, found.parting) == ("none", 4, None)


def test_the_first_other_token_is_named_with_its_text_and_message():
    found = told(cached=4, shared=4, other=6)
    assert found.cause == "different"
    assert (found.parting.place, found.parting.token, found.parting.known_token) == (4, 5, 6)
    assert (found.parting.text, found.parting.known_text, found.parting.message) == (" blue", " red", 2)
    assert "token 4 of message 2: ' blue' here, ' red' there" in found.why


def test_a_message_without_words_comes_before_the_next_one():
    key = tuple(range(100, 110))
    usual = {"cached": 5, "known": True, "lost": False, "message_ends": (2, 5, 5), "spell": str}
    told = [explain(key, shared=shared, other=1, **usual).parting.message for shared in (1, 2, 6)]
    assert told == [0, 1, 2]


def test_images_are_named_as_such():
    found = told(key=(1, 2, 3, 4, -7, 9), cached=4, shared=4, other=6)
    assert (found.parting.token, found.parting.text) == (None, "<image>")


def test_a_model_that_cannot_go_back_says_from_where_it_had_to_begin():
    key = tuple(range(100, 200))
    found = told(key=key, cached=10, shared=60)
    assert found.cause == "no_checkpoint"
    assert "up to token 60" in found.why
    assert "at 10" in found.why
    assert told(key=key, cached=10, shared=60, lost=True).cause == "evicted"


def test_a_few_tokens_more_or_less_are_no_reason():
    found = told(key=tuple(range(100, 200)), cached=50, shared=58)
    assert found.cause == "none"


def test_switched_off_is_a_reason():
    assert off(7, "because").cause == "off"
    assert off(7, "because").why == "because"
