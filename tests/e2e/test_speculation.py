"""Guessing behind a real server: the same answers, and numbers that add up, whatever was guessed when."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

FAMILIES = ("minicpm5", "qwen35-text", "gemma4-e2b-text")
TEXTS = ("Say it again and again. " * 9, "Count to three. " * 12, "Hello", "A long walk home, " * 20)
LENGTH = 48
SPECULATE = {"engine": {"speculate": "lookup"}}


@pytest.fixture
def folder(request):
    """The model that is always there, or one of each family."""
    if request.param == "sketch":
        return request.getfixturevalue("sketch")
    return request.getfixturevalue("tiny_checkpoints") / request.param


@pytest.mark.parametrize("folder", ["sketch", *FAMILIES], indirect=True)
def test_answers_are_those_without_guesses_and_what_was_guessed_is_told(live, official, chat, folder):
    def ask(client, number):
        messages = [{"role": "user", "content": TEXTS[number % len(TEXTS)]}]
        warm = {"temperature": 0.4, "seed": number} if number % 2 else {}
        return chat(client, stream=number > 3, messages=messages, max_tokens=LENGTH, **warm)

    told, usages = [], []
    for flags in ({"engine": {}}, SPECULATE):
        with live(folder, flags=flags) as served:
            client = official(served.url)
            with ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(lambda number, client=client: ask(client, number), range(8)))
            totals = httpx.get(f"{served.url}/stats").json()["totals"]
        told.append([(one.only.text, one.only.thinking, one.only.reason) for one in answers])
        usages = [one.usage.completion_tokens_details for one in answers]
    assert told[0] == told[1]
    accepted = sum(usage.accepted_prediction_tokens or 0 for usage in usages)
    rejected = sum(usage.rejected_prediction_tokens or 0 for usage in usages)
    assert (totals["accepted_tokens"], totals["guessed_tokens"]) == (accepted, accepted + rejected)
    assert totals["device_s"] > 0
