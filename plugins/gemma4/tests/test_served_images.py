"""Images from the official client to the answer, through everything between, against the oracles' tokens."""

import base64
import json
import re
import shutil
from contextlib import ExitStack

import pytest

from mlxp_core.testing.live import serve_folders

VARIANTS = ["gemma4-e2b", "gemma4-31b", "gemma4-26b-a4b", "gemma4-12b-unified"]
PROMPT = [2, 105, 130, 140, 107, 501, 150, 160, 170, 106, 107, 105, 180, 107]
"""What the recorded answers are answers to, before the image is expanded: 501 stands for it."""

PIECES = (130, 140, 150, 160, 170, 180)
"""Of those, the ones that text would be split into otherwise; the copied tokenizer is told to keep them whole."""

END = 1


@pytest.fixture(scope="module")
def oracle(shared):
    return json.loads((shared / "tools" / "checkpoints" / "tiny_oracle.json").read_text())


@pytest.fixture
def copied(tiny_checkpoints, tmp_path):
    """Return a checkpoint of one's own."""
    return lambda variant: shutil.copytree(tiny_checkpoints / variant, tmp_path / variant)


def pieces(folder):
    """Return the tokens by id, and those of them that are added."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    added = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    return {token: piece for piece, token in tokenizer["model"]["vocab"].items()} | added, added


def make_it_write(folder, prompt):
    """Have the template write these tokens, with its image where the placeholder is."""
    path = folder / "tokenizer.json"
    tokenizer, (names, added) = json.loads(path.read_text()), pieces(folder)
    assert not added.keys() & set(PIECES)
    for token in PIECES:
        own = {"id": token, "content": names[token], "special": False, "normalized": False}
        tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], **own})
    path.write_text(json.dumps(tokenizer))
    around = "".join(names[token] for token in prompt).split("<|image|>")
    before, after = (f"{{{{ {json.dumps(text)} }}}}" for text in around)
    image = "{% for part in messages[0].content if part.type == 'image' %}<|image|>{% endfor %}"
    (folder / "chat_template.jinja").write_text(before + image + after)


def asked(official, folder, *content, tokens=16):
    """Return the answer to a message of the test image and what else is in ``content``."""
    data = base64.b64encode((folder / "test_image.png").read_bytes()).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    return official.chat.completions.create(
        model=folder.name,
        messages=[{"role": "user", "content": [image, *content]}],
        temperature=0,
        max_tokens=tokens,
        logprobs=True,
    )


def bytes_of(piece):
    byte = re.fullmatch(r"<0x(..)>", piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()


@pytest.fixture
def serve():
    """Serve a folder and return an official client of it."""
    openai = pytest.importorskip("openai")
    with ExitStack() as open_ones:

        def begin(folder, **engine):
            flags = {"engine": {"dtype": "float32", **engine}}
            server = open_ones.enter_context(serve_folders(folder, flags=flags))
            client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
            return open_ones.enter_context(client)

        yield begin


@pytest.mark.parametrize("chunk", [2048, 16])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_client_that_sends_an_image_gets_the_oracles_tokens(oracle, copied, serve, variant, chunk):
    folder = copied(variant)
    names, added = pieces(folder)
    make_it_write(folder, PROMPT)
    expected = oracle[variant]["transformers_image_float32"]
    said = expected["greedy16"]
    said = said[: said.index(END) + 1] if END in said else said
    answer = asked(serve(folder, prefill_chunk=chunk), folder)
    assert answer.usage.prompt_tokens == expected["input_ids_summary"]["len"]
    assert answer.usage.completion_tokens == len(said)
    assert answer.choices[0].finish_reason == ("stop" if said[-1] == END else "length")
    shown = [bytes_of(names[token]) for token in said if token not in added or "unused" in names[token]]
    assert [bytes(score.bytes) for score in answer.choices[0].logprobs.content] == shown
    assert len(shown) >= len(said) - 1


@pytest.mark.parametrize(
    "variant", ["gemma4-e2b", "gemma4-31b-4bit-g64", "gemma4-26b-a4b-4bit-g64", "gemma4-12b-unified"]
)
def test_a_question_about_an_image_becomes_the_oracles_prompt(oracle, copied, serve, variant):
    """The oracle gives the unified model's images 280 tokens, whatever the files say; its only text is that model's."""
    folder, expected = copied(variant), oracle[variant]["e2e_mlx_vlm"]
    if unified := "unified" in variant:
        path = folder / "processor_config.json"
        settings = json.loads(path.read_text())
        settings["image_processor"]["max_soft_tokens"] = 280
        path.write_text(json.dumps(settings))
    answer = asked(serve(folder), folder, {"type": "text", "text": "what is this?"}, tokens=6)
    assert answer.usage.prompt_tokens == expected["prompt_tokens"]
    if unified:
        assert answer.choices[0].message.content == expected["greedy_text"].removesuffix("<pad>")
