"""A stranger's family with real weights: Gemma 3 270M over HTTP, greedy, says what mlx-lm says.

In three forms: in float32, in bfloat16, and in 8 bits as mlx-lm quantizes it; each prompt alone, and eight at once.

Two networks that round otherwise may choose otherwise where two tokens are about equally likely. So answers are
compared up to mlx-lm's first step at which the two likeliest tokens are nearer than ``TIE``, and to their end without
such a step.

The weights are not in the repository. Put a folder with the base model in MLX's or Hugging Face's layout, tokenizer and
chat template included, at ``.cache/gemma3-270m-mlx``, or name one in ``MLXP_GEMMA3``.
"""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import mlx.core as mx
import openai
import pytest
from mlx.utils import tree_map

from mlxp_core.testing.live import serve_folders

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).parent / "mlxp-gemma3" / "src"
LENGTH = 12
TEXTS = (
    "The three primary colours are",
    "def fibonacci(n):\n",
    "Once upon a time in Łódź,",
    "The capital of France is",
    "Water boils at",
    "1, 2, 3, 4,",
    "Dear Sir or Madam,\n\n",
    "Das ist ein schöner Tag, und",
    "El perro corre por",
    "import numpy as np\n\n",
    "SELECT name FROM users WHERE",
    "The first law of thermodynamics states that",
    '{"name": "Ada", "born":',
    "- apples\n- pears\n-",
    "東京は",
    "Она сказала, что",
    "To be, or not to be,",
    "<html>\n<head>\n<title>",
    "In 1969, the first",
    "Q: What is 2 + 2?\nA:",
)
QUESTIONS = ("What colour is the sky?", "Count to five.")
TOGETHER = 8

FORMS = {"float32": ("float32", None), "bfloat16": ("bfloat16", None), "8bit": ("float32", 8)}
"""Name -> type of what is computed, bits of the weights."""

TIE = {"float32": 1e-3, "bfloat16": 0.25, "8bit": 0.05}
"""How far apart logits are that rounding may swap. mlx-lm rounds the factor of embeddings to bfloat16 whatever it
computes in; in 8 bits that moved log-probabilities by up to 0.014. Logits of bfloat16 come in steps of up to 0.125."""

SURE = {"float32": 20, "bfloat16": 6, "8bit": 6}
"""How many of the answers must be beyond doubt to their end, or the comparison says little."""


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
def mlx_lm():
    """The oracle."""
    return pytest.importorskip("mlx_lm", reason="mlx-lm is the oracle")


@pytest.fixture(scope="module", params=FORMS)
def form(request, weights, mlx_lm, tmp_path_factory):
    """One form of the model: its name, its folder, and the type that it is computed in."""
    dtype, bits = FORMS[request.param]
    folder = weights
    if bits:
        folder = tmp_path_factory.mktemp("quantized") / "gemma3"
        mlx_lm.convert(str(weights), str(folder), quantize=True, q_bits=bits, q_group_size=64)
    return SimpleNamespace(name=request.param, folder=folder, dtype=dtype)


@pytest.fixture(scope="module")
def oracle(form, mlx_lm):
    """Ask mlx-lm for what it says after tokens: all of it, and how much of that is beyond doubt."""
    from mlx_lm.generate import generate_step  # noqa: PLC0415  # may be absent

    model, tokenizer = mlx_lm.load(str(form.folder))
    wanted = getattr(mx, form.dtype)
    model.update(
        tree_map(lambda x: x.astype(wanted) if mx.issubdtype(x.dtype, mx.floating) else x, model.parameters())
    )

    def text(tokens):
        return tokenizer.decode(tokens, skip_special_tokens=True).rstrip("\ufffd")

    def go_on(prompt):
        said, doubt = [], None
        for token, scores in generate_step(mx.array(prompt), model, max_tokens=LENGTH):
            second, first = mx.sort(scores.astype(mx.float32))[-2:].tolist()
            if doubt is None and first - second < TIE[form.name]:
                doubt = len(said)
            if token in tokenizer.eos_token_ids:
                break
            said.append(token)
        return text(said), None if doubt is None else text(said[:doubt])

    return SimpleNamespace(go_on=go_on, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def client(form):
    """The official client of a server with the stranger's plugin."""
    sys.path.insert(0, str(SOURCE))
    try:
        from mlxp_gemma3 import plugin  # noqa: PLC0415  # installed nowhere

        flags = {"engine": {"dtype": form.dtype, "prompt_cache_bytes": 0}}
        with (
            serve_folders(form.folder, plugins=[("gemma3", plugin)], flags=flags) as served,
            openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as made,
        ):
            yield made
    finally:
        sys.path.remove(str(SOURCE))


@pytest.fixture(scope="module")
def expected(oracle):
    """Text -> number of its tokens, what mlx-lm says after it, and how much of that is beyond doubt."""
    prompts = {text: oracle.tokenizer.encode(text) for text in TEXTS}
    return {text: (len(prompt), *oracle.go_on(prompt)) for text, prompt in prompts.items()}


def assert_said(said, expected, text):
    _, whole, sure = expected[text]
    if sure is None:
        assert said == whole != "", text
    else:
        assert said.startswith(sure), text


def test_enough_answers_are_beyond_doubt(form, expected):
    whole = [text for text, (_, _, sure) in expected.items() if sure is None]
    assert len(whole) >= SURE[form.name]


def test_each_text_alone_goes_on_as_in_mlx_lm(client, expected):
    for text in TEXTS:
        answer = client.completions.create(model="", prompt=text, max_tokens=LENGTH, temperature=0)
        assert answer.usage.prompt_tokens == expected[text][0]
        assert_said(answer.choices[0].text, expected, text)


def test_eight_at_once_go_on_as_in_mlx_lm(client, expected):
    for first in range(0, len(TEXTS), TOGETHER):
        texts = (TEXTS[first:] + TEXTS)[:TOGETHER]
        answer = client.completions.create(model="", prompt=list(texts), max_tokens=LENGTH, temperature=0)
        assert answer.usage.prompt_tokens == sum(expected[text][0] for text in texts)
        for text, choice in zip(texts, answer.choices, strict=True):
            assert_said(choice.text, expected, text)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_chat_is_answered_as_by_mlx_lm(client, oracle, question):
    messages = [{"role": "user", "content": question}]
    prompt = oracle.tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    chunks = client.chat.completions.create(
        model="", messages=messages, max_tokens=LENGTH, temperature=0, stream=True
    )
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert_said(said, {question: (len(prompt), *oracle.go_on(prompt))}, question)
