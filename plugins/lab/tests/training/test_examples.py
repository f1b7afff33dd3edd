"""Rows as tokens: what is learned of each form, and what is cut."""

import functools
import json

import pytest

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.rows import read_row
from mlxp_lab.training.examples import Example, Pair, Teacher, taught

CHAT = {
    "messages": [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "first answer"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "second answer"},
    ]
}
PREFERENCE = {"prompt": "which of the two", "chosen": "this one", "rejected": "that other one"}


@pytest.fixture(scope="module")
def teach(opened):
    """Return a row as the tokens of a model, and what is learned of each of its rows."""

    models = functools.cache(opened)

    def tell(row, model="minicpm5", *, learn="answers", chat_template=True, max_tokens=200):
        told = models(model)
        teacher = Teacher(told, learn=learn, chat_template=chat_template, max_tokens=max_tokens)
        return taught(read_row(json.dumps(row)), teacher), told.frontend.tokenizer

    return tell


def learned(example, tokenizer):
    return [tokenizer.decode(example.tokens[start:end]) for start, end in example.learned]


@pytest.mark.parametrize("model", ["minicpm5", "qwen35", "gemma4-e2b-text"])
def test_what_is_learned_of_a_chat(teach, model):
    for learn, expected in (("answers", 2), ("last", 1)):
        example, tokenizer = teach(CHAT, model, learn=learn)
        answers = learned(example, tokenizer)
        assert len(answers) == expected
        assert answers[-1].startswith("second answer<")
        assert example.tokens[example.learned[-1][1] - 1] in tokenizer.end_tokens
    everything, _ = teach(CHAT, model, learn="all")
    assert everything.learned == ((0, len(everything.tokens)),)
    assert everything.count == len(everything.tokens) - 1  # nothing comes before the first
    assert everything.tokens[: len(example.tokens)] == example.tokens
    assert len(example.tokens) == example.learned[-1][1]  # nothing is read that nothing follows from


def test_prompt_and_completion_are_a_chat_or_a_text(teach):
    row = {"prompt": "a question", "completion": " an answer"}
    chat, tokenizer = teach(row)
    assert tokenizer.decode(chat.tokens).count("<|im_start|>") == 2
    assert [text.strip().split("<")[0] for text in learned(chat, tokenizer)] == ["an answer"]
    text, _ = teach(row, chat_template=False)
    assert "<|im_start|>" not in tokenizer.decode(text.tokens)
    (completed,) = learned(text, tokenizer)
    assert completed.startswith(" an answer")
    assert text.tokens[-1] in tokenizer.end_tokens
    bare, _ = teach({"prompt": "", "completion": "an answer"})
    assert "<|im_start|>" not in tokenizer.decode(bare.tokens)


def test_texts_are_learned_whole_and_end(teach):
    example, tokenizer = teach({"text": "some words"})
    assert example.learned == ((0, len(example.tokens)),)
    assert example.tokens[-1] in tokenizer.end_tokens
    begun = tokenizer.encode("some words", special=True)
    assert list(example.tokens[:-1]) == begun


def test_pairs_share_their_prompt_and_differ_in_their_answers(teach):
    for chat_template in (True, False):
        pair, tokenizer = teach(PREFERENCE, chat_template=chat_template)
        starts = [example.learned[0][0] for example in (pair.chosen, pair.rejected)]
        assert pair.chosen.tokens[: starts[0]] == pair.rejected.tokens[: starts[1]]
        assert [len(example.learned) for example in (pair.chosen, pair.rejected)] == [1, 1]
        assert "this one" in learned(pair.chosen, tokenizer)[0]
        assert "that other one" in learned(pair.rejected, tokenizer)[0]
    told = {**PREFERENCE, "prompt": [*CHAT["messages"], {"role": "user", "content": "three"}]}
    pair, tokenizer = teach(told)
    assert "first answer" in tokenizer.decode(pair.chosen.tokens)
    assert "this one" in learned(pair.chosen, tokenizer)[0]


def test_long_rows_are_cut_behind_and_long_pairs_in_front(teach):
    whole, tokenizer = teach(CHAT)
    begin, end = whole.learned[0]
    for most in range(2, len(whole.tokens) + 1):
        cut, _ = teach(CHAT, max_tokens=most)
        if most <= begin:
            assert cut is None
            continue
        assert cut == Example(whole.tokens[:most], cut.learned)
        assert cut.learned[0] == (begin, min(end, most))
    pair, _ = teach(PREFERENCE)
    longest = max(example.count for example in (pair.chosen, pair.rejected))
    for most in range(2, len(pair.rejected.tokens) + 1):
        cut, _ = teach(PREFERENCE, max_tokens=most)
        if most <= longest:
            assert cut is None
            continue
        assert isinstance(cut, Pair)
        for before, after in ((pair.chosen, cut.chosen), (pair.rejected, cut.rejected)):
            assert after.tokens == before.tokens[-most:]
            assert learned(after, tokenizer) == learned(before, tokenizer)


def test_a_conversation_that_the_template_refuses_is_told(teach):
    row = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    strange = {
        **row,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    }
    assert teach(strange)[0].count
    with pytest.raises(BadRequest):
        teach({"messages": [{"role": "user", "content": "a"}]})
