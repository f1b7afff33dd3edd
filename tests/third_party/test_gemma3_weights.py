"""A stranger's family with real weights: Gemma 3 270M over HTTP, greedy, says what mlx-lm says.

The weights are not in the repository. Put a folder with the base model in MLX's or Hugging Face's layout, tokenizer and
chat template included, at ``.cache/gemma3-270m-mlx``, or name one in ``MLXP_GEMMA3``.
"""

import os
import sys
from pathlib import Path

import mlx.core as mx
import openai
import pytest
from mlx.utils import tree_map

from mlxp_core.testing.live import serve_folders

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).parent / "mlxp-gemma3" / "src"
LENGTH = 20
TEXTS = ("The three primary colours are", "def fibonacci(n):\n", "Once upon a time in Łódź,")
QUESTIONS = ("What colour is the sky?", "Count to five.")


@pytest.fixture(scope="module")
def weights():
    """The folder of the model; skips where there is none."""
    folder = Path(os.environ.get("MLXP_GEMMA3", ROOT / ".cache" / "gemma3-270m-mlx"))
    if not (folder / "config.json").is_file():
        pytest.skip(
            f"no Gemma 3 270M at {folder}: put the model there, as MLX or Hugging Face lays it out, with "
            "tokenizer.json and chat_template.jinja, or name its folder in MLXP_GEMMA3"
        )
    return folder


@pytest.fixture(scope="module")
def oracle(weights):
    """mlx-lm with the same weights, in float32: what it says after these tokens, and its tokenizer."""
    mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is the oracle")
    from mlx_lm.generate import generate_step  # noqa: PLC0415  # may be absent

    model, tokenizer = mlx_lm.load(str(weights))
    model.update(tree_map(lambda array: array.astype(mx.float32), model.parameters()))

    def go_on(prompt):
        tokens = [int(token) for token, _ in generate_step(mx.array(prompt), model, max_tokens=LENGTH)]
        ends = [at for at, token in enumerate(tokens) if token in tokenizer.eos_token_ids]
        return tokenizer.decode(tokens[: ends[0]] if ends else tokens, skip_special_tokens=True)

    return go_on, tokenizer


@pytest.fixture(scope="module")
def client(weights):
    """The official client of a server with the stranger's plugin."""
    sys.path.insert(0, str(SOURCE))
    try:
        from mlxp_gemma3 import plugin  # noqa: PLC0415  # installed nowhere

        flags = {"engine": {"dtype": "float32"}}
        with (
            serve_folders(weights, plugins=[("gemma3", plugin)], flags=flags) as served,
            openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as made,
        ):
            yield made
    finally:
        sys.path.remove(str(SOURCE))


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text_goes_on_as_in_mlx_lm(client, oracle, text):
    go_on, tokenizer = oracle
    prompt = tokenizer.encode(text)
    answer = client.completions.create(model="", prompt=text, max_tokens=LENGTH, temperature=0)
    assert answer.usage.prompt_tokens == len(prompt)
    assert answer.choices[0].text == go_on(prompt) != ""


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_chat_is_answered_as_by_mlx_lm(client, oracle, question):
    go_on, tokenizer = oracle
    messages = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    chunks = client.chat.completions.create(
        model="", messages=messages, max_tokens=LENGTH, temperature=0, stream=True
    )
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert said == go_on(prompt) != ""
