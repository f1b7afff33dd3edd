"""Text completions and questions about text, with the official client and real weights."""

import openai
import pytest

PROMPTS = ["Once upon a time", "the weather", "Once upon a time"]


def complete(client, **asked):
    return client.completions.create(**{"model": "", "prompt": "hello", "max_tokens": 8, **asked})


def texts(answer):
    return [choice.text for choice in sorted(answer.choices, key=lambda choice: choice.index)]


def test_prompts_of_one_request_say_what_each_says_alone(client):
    together = complete(client, prompt=PROMPTS, temperature=0, n=2)
    alone = [complete(client, prompt=prompt, temperature=0) for prompt in PROMPTS]
    assert texts(together) == [text for one in alone for text in texts(one) * 2]
    assert together.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in alone)
    assert together.usage.completion_tokens == 2 * sum(one.usage.completion_tokens for one in alone)


def test_each_choice_has_its_own_seed_and_says_the_same_with_it(client):
    together = complete(client, prompt=PROMPTS, temperature=1, n=2, seed=5)
    for choice in together.choices:
        assert choice.mlxp["seed"] == 5 + choice.index
        alone = complete(client, prompt=PROMPTS[choice.index // 2], temperature=1, seed=5 + choice.index)
        assert texts(alone) == [choice.text]


def test_a_stream_says_what_the_whole_says(client):
    asked = {"prompt": PROMPTS, "temperature": 1, "seed": 3, "n": 2, "echo": True}
    whole = complete(client, **asked)
    said, usage = {}, None
    for chunk in complete(client, stream=True, stream_options={"include_usage": True}, **asked):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            said[choice.index] = said.get(choice.index, "") + choice.text
    assert [text for _, text in sorted(said.items())] == texts(whole)
    assert usage == whole.usage
    assert all(text.startswith(PROMPTS[index // 2]) for index, text in said.items())


def test_text_and_its_tokens_are_one_prompt(client, served):
    tokens = served.client.post("/tokenize", json={"prompt": "hello"}).json()["tokens"]
    by_text, by_tokens = (complete(client, prompt=prompt, temperature=0) for prompt in ("hello", tokens))
    assert texts(by_text) == texts(by_tokens)
    echoed = complete(client, prompt=tokens, temperature=0, echo=True)
    shown = served.client.post("/detokenize", json={"tokens": tokens}).json()["text"]
    assert texts(echoed) == [shown + texts(by_text)[0]]


def test_scores_belong_to_the_tokens_of_the_answer(client):
    answer = complete(client, temperature=0, logprobs=2)
    logprobs = answer.choices[0].logprobs
    assert len(logprobs.tokens) <= answer.usage.completion_tokens
    for token, logprob, top in zip(
        logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs, strict=True
    ):
        assert top[token] == logprob == max(top.values())  # greedy
    assert logprobs.text_offset == sorted(logprobs.text_offset)


def test_a_stop_string_ends_the_answer(client):
    whole = texts(complete(client, temperature=0, max_tokens=24))[0]
    stop = whole[3:5]
    cut = complete(client, temperature=0, max_tokens=24, stop=[stop])
    assert texts(cut) == [whole[: whole.index(stop)]]
    assert (cut.choices[0].finish_reason, cut.choices[0].mlxp["stop"]) == ("stop", stop)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"suffix": "end"}, "suffix"),
        ({"best_of": 3}, "best_of"),
        ({"echo": True, "logprobs": 1}, "echo"),
        ({"prompt": ["a"] * 65}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": [10**7]}, "prompt"),
        ({"max_tokens": 10**7}, "max_tokens"),
        ({"logprobs": 6}, "logprobs"),
    ],
    ids=str,
)
def test_what_is_not_done_is_refused_by_name(client, asked, param):
    with pytest.raises(openai.BadRequestError) as caught:
        complete(client, **asked)
    assert caught.value.param == param


CONVERSATION = {
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
    "chat_template_kwargs": {"enable_thinking": False},
}


def test_the_rendered_prompt_is_what_a_conversation_is_charged_for(client, served, chat):
    rendered = served.client.post("/render", json=CONVERSATION).json()
    tokenized = served.client.post("/v1/tokenize", json=CONVERSATION).json()
    asked = chat(
        client,
        stream=False,
        messages=CONVERSATION["messages"],
        extra_body={"chat_template_kwargs": CONVERSATION["chat_template_kwargs"]},
    )
    assert rendered["count"] == tokenized["count"] == asked.usage.prompt_tokens
    assert rendered["tokens"] == tokenized["tokens"]


def test_the_rendered_text_continues_as_the_conversation_does(client, served, chat):
    rendered = served.client.post("/render", json=CONVERSATION).json()
    body = {"prompt": rendered["text"], "add_special_tokens": False}
    assert served.client.post("/tokenize", json=body).json()["tokens"] == rendered["tokens"]
    by_tokens = complete(client, prompt=rendered["tokens"], temperature=0)
    conversed = chat(
        client,
        stream=False,
        messages=CONVERSATION["messages"],
        extra_body={"chat_template_kwargs": CONVERSATION["chat_template_kwargs"]},
    )
    assert texts(by_tokens) == [conversed.only.text]
