"""Images from the official client to the answer, through everything between, against the oracles' tokens."""

import base64
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from mlxp_core.testing.live import serve_folders
from mlxp_core.testing.pictures import chequered, encoded

VARIANTS = ["qwen35", "qwen35-moe", "qwen35-4bit-g32", "qwen35-moe-4bit-g64", "qwen35-mixed"]
PLACEHOLDER = "<|image_pad|>"
BEFORE, AFTER = [479, 50, 60, 487], [488, 70, 80, 480, 90, 479, 100, 110]
"""What the recorded answers have in front of and behind the image."""

STOPS = (480, 478)


@pytest.fixture
def copied(tiny_checkpoints, tmp_path):
    """Return a checkpoint of one's own."""
    return lambda variant: shutil.copytree(tiny_checkpoints / variant, tmp_path / variant)


class Pieces:
    """The tokens of a model as text."""

    def __init__(self, folder):
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        self.added = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
        self.hidden = {token["id"] for token in tokenizer["added_tokens"] if token["special"]}
        self.names = {token: piece for piece, token in tokenizer["model"]["vocab"].items()} | self.added

    def text(self, tokens):
        return "".join(self.names[token] for token in tokens)

    def shown(self, tokens):
        """Return the bytes of every token that a client gets to see."""
        return [self._bytes(token) for token in tokens if token not in self.hidden]

    def _bytes(self, token):
        name = self.names[token]
        return name.encode() if token in self.added else bytes(map(_ALPHABET.__getitem__, name))


def _alphabet():
    """Return the byte of each letter of byte-level vocabularies: printable ones stand for themselves."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + at): byte for at, byte in enumerate(others)}


_ALPHABET = _alphabet()


def make_it_write(folder, around):
    """Have the template write these tokens, with its images between them."""
    path, pieces = folder / "tokenizer.json", Pieces(folder)
    tokenizer = json.loads(path.read_text())
    for token in {token for tokens in around for token in tokens} - pieces.added.keys():
        own = {"id": token, "content": pieces.names[token], "special": False, "normalized": False}
        tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], **own})
    path.write_text(json.dumps(tokenizer))
    (folder / "chat_template.jinja").write_text(
        f"{{% set around = {json.dumps([pieces.text(tokens) for tokens in around])} %}}{{{{ around[0] }}}}"
        "{% for part in messages[0].content if part.type == 'image' %}"
        f"{PLACEHOLDER}{{{{ around[loop.index] }}}}{{% endfor %}}"
    )


def sent(data):
    """Write an image as a part of a message."""
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def asked(official, folder, *content, tokens=16, **more):
    return official.chat.completions.create(
        model=folder.name,
        messages=[{"role": "user", "content": list(content)}],
        temperature=0,
        max_tokens=tokens,
        logprobs=True,
        **more,
    )


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


def written(answer):
    """Return the bytes of every token of an answer."""
    return [bytes(score.bytes) for score in answer.choices[0].logprobs.content]


def assert_said(answer, pieces, said):
    assert answer.usage.completion_tokens == len(said)
    assert answer.choices[0].finish_reason == "length"
    assert written(answer) == pieces.shown(said)


@pytest.mark.parametrize("chunk", [2048, 16])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_client_that_sends_an_image_gets_the_oracles_tokens(oracle, copied, serve, variant, chunk):
    folder = copied(variant)
    pieces = Pieces(folder)
    make_it_write(folder, [BEFORE, AFTER])
    said = oracle[variant]["mlx_vlm_float32"]["image"]["greedy16"]
    assert not set(said) & set(STOPS)
    assert said == oracle[variant].get("transformers_image_float32", {"greedy16": said})["greedy16"]
    image = sent((folder / "test_image.png").read_bytes())
    answer = asked(serve(folder, prefill_chunk=chunk), folder, image)
    assert answer.usage.prompt_tokens == len(BEFORE) + 80 + len(AFTER)
    assert_said(answer, pieces, said)


@pytest.mark.parametrize("variant", ["qwen35", "qwen35-moe"])
def test_clients_with_images_and_without_are_answered_together(oracle, copied, serve, several, variant):
    """One with one image, one with three of different shapes, one with none; each twice."""
    folder = copied(variant)
    pieces, expected = Pieces(folder), several["models"][variant]["greedy16"]
    make_it_write(folder, several["around"])
    client = serve(folder, prefill_chunk=50)
    shapes = [chequered(*image["size"], colour=tuple(image["colour"])) for image in several["images"]]
    contents = [[sent(encoded(image)) for image in shapes[:count]] for count in (3, 1, 0)]
    contents[2] = [{"type": "text", "text": "no image"}]
    alone = [asked(client, folder, *content) for content in contents]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda content: asked(client, folder, *content), contents * 2))
    assert_said(alone[0], pieces, expected)
    for answer, first in zip(together, alone * 2, strict=True):
        assert written(answer) == written(first)
    assert len({tuple(written(answer)) for answer in alone}) == len(contents)


@pytest.mark.parametrize("variant", ["qwen35", "qwen35-moe-4bit-g64"])
def test_a_question_about_an_image_becomes_the_oracles_prompt(oracle, copied, serve, variant):
    """The oracle asks without thinking. It shows marks of images, which we do not, and drops unfinished letters."""
    folder, expected = copied(variant), oracle[variant]["e2e_mlx_vlm"]
    image = sent((folder / "test_image.png").read_bytes())
    question = {"type": "text", "text": "what is this?"}
    plain = {"chat_template_kwargs": {"enable_thinking": False}}
    answer = asked(serve(folder), folder, image, question, tokens=6, extra_body=plain)
    assert answer.usage.prompt_tokens == expected["prompt_tokens"]
    told = answer.choices[0].message.content.removesuffix("\ufffd")
    assert told == expected["greedy_text"].removeprefix("<|vision_start|>")
