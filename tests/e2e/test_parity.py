"""Greedy text is mlx-lm's, from the same checkpoint and the same conversation, over HTTP."""

import mlx.core as mx
import pytest
from mlx.utils import tree_map

LENGTH = 24
CONVERSATIONS = {
    "one turn": [{"role": "user", "content": "Tell me about the weather in Łódź."}],
    "instructed": [
        {"role": "system", "content": "Answer in one word."},
        {"role": "user", "content": "Is water wet?"},
    ],
    "three turns": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello! What can I do?"},
        {"role": "user", "content": "Count to three. " * 40},
    ],
}


@pytest.fixture(scope="module")
def oracle(tiny):
    """mlx-lm with the same weights, in float32."""
    mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is the oracle")
    from mlx_lm.generate import generate_step  # noqa: PLC0415  # may be absent

    model, tokenizer = mlx_lm.load(str(tiny))
    model.update(tree_map(lambda array: array.astype(mx.float32), model.parameters()))

    def answer(conversation):
        prompt = tokenizer.apply_chat_template(
            conversation, add_generation_prompt=True, enable_thinking=False
        )
        tokens = []
        for token, _ in generate_step(mx.array(prompt), model, max_tokens=LENGTH):
            if token in tokenizer.eos_token_ids:
                break
            tokens.append(int(token))
        return len(prompt), tokenizer.decode(tokens, skip_special_tokens=True)

    return answer


@pytest.mark.parametrize("conversation", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_greedy_text_is_mlx_lms(live, official, chat, tiny, oracle, conversation):
    with live(tiny) as served:
        found = chat(
            official(served.url),
            stream=True,
            messages=conversation,
            max_tokens=LENGTH,
            extra_body={"chat_template_kwargs": {"enable_thinking": False}},
        )
    length, text = oracle(conversation)
    assert found.usage.prompt_tokens == length
    assert found.only.text == text != ""
