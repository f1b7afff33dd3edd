"""What the official client gets from a server with real weights: whole or streamed, alone or among others."""

from concurrent.futures import ThreadPoolExecutor

import pytest

MANY = 16
WORDS = ("weather", "model", "hello", "the function", "Łódź 👩‍👧", "1 2 3")

ASKED = {
    "greedy": {},
    "seeded": {"temperature": 1.0, "seed": 3},
    "narrow": {"temperature": 1.3, "seed": 11, "top_p": 0.8, "extra_body": {"top_k": 20, "min_p": 0.01}},
    "penalised": {"presence_penalty": 1.5, "frequency_penalty": 0.5},
    "scored": {"logprobs": True, "top_logprobs": 3},
    "several": {"n": 3, "temperature": 1.0, "seed": 5},
    "biased": {"logit_bias": {"40": 4.0, "41": -100}},
}
"""One kind of request for each thing that is drawn or told differently."""


def messages(number):
    text = f"{WORDS[number % len(WORDS)]} " * (1 + 3 * number)
    return [{"role": "user", "content": text}]


def assert_same(found, expected):
    assert found.told() == expected.told()
    for index, choice in expected.choices.items():
        pairs = zip(found.choices[index].scores, choice.scores, strict=True)
        for (token, logprob, top, _), (token_alone, logprob_alone, top_alone, _) in pairs:
            assert token == token_alone
            assert logprob == pytest.approx(logprob_alone, abs=1e-4)
            assert [score for _, score in top] == pytest.approx([score for _, score in top_alone], abs=1e-4)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_stream_says_what_the_whole_says(client, chat, asked):
    whole, streamed = (chat(client, stream=stream, **asked) for stream in (False, True))
    assert_same(streamed, whole)
    assert len(whole.choices) == asked.get("n", 1)


def test_among_others_every_answer_is_the_one_it_is_alone(client, chat):
    def ask(number):
        asked = list(ASKED.values())[number % len(ASKED)]
        return chat(client, stream=number % 2 == 0, messages=messages(number), max_tokens=4 + number, **asked)

    alone = [ask(number) for number in range(MANY)]
    with ThreadPoolExecutor(MANY) as pool:
        together = list(pool.map(ask, range(MANY)))
    for found, expected in zip(together, alone, strict=True):
        assert_same(found, expected)


def test_a_seed_says_the_same_again_and_another_one_does_not(client, chat):
    asked = {"temperature": 1.0, "max_tokens": 24, "stream": False}
    texts = [chat(client, seed=seed, **asked).only for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_choices_are_those_of_the_seeds_that_follow(client, chat):
    asked = {"temperature": 1.0, "max_tokens": 12, "stream": False}
    three = chat(client, n=3, seed=20, **asked)
    alone = [chat(client, seed=20 + index, **asked) for index in range(3)]
    assert [three.choices[index] for index in range(3)] == [answer.only for answer in alone]
    assert three.usage.completion_tokens == sum(answer.usage.completion_tokens for answer in alone)
    assert three.usage.prompt_tokens == alone[0].usage.prompt_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_tokens_are_counted_and_their_limit_is_kept(client, chat, stream):
    for limit in (1, 2, 9):
        answer = chat(client, stream=stream, max_tokens=limit)
        assert answer.only.reason == "length"
        assert answer.usage.completion_tokens == limit
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + limit


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_ends_the_answer_before_it(client, chat, stream):
    full = chat(client, stream=False, max_tokens=32).only
    text = full.text or full.thinking
    assert full.text, "these weights say something visible"
    stop = text[5:7]
    answer = chat(client, stream=stream, max_tokens=32, stop=[stop, "never said"]).only
    assert answer.text == text[: text.index(stop)]
    assert answer.reason == "stop"


def test_scores_are_those_of_the_drawn_tokens(client, chat):
    answer = chat(client, stream=False, logprobs=True, top_logprobs=4, max_tokens=6)
    said = b"".join(bytes(data) for *_, data in answer.only.scores)
    assert said.decode("utf-8", "replace") == answer.only.text != ""
    for token, logprob, top, _ in answer.only.scores:
        assert top[0] == (token, logprob), "greedy draws the likeliest"
        assert [score for _, score in top] == sorted((score for _, score in top), reverse=True)
        assert all(score <= 0 for _, score in top)


def test_without_include_usage_no_chunk_has_any(client):
    chunks = client.chat.completions.create(
        model="", messages=messages(0), max_tokens=3, temperature=0, stream=True
    )
    assert all(chunk.usage is None for chunk in chunks)
