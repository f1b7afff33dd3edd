"""Images from a client's request to its answer: a real server, engine and network; only the family is a stranger's."""

import base64
from concurrent.futures import ThreadPoolExecutor

import mlx.core as mx
import openai
import pytest

from mlxp_core.kv import BatchCache, forward
from mlxp_core.loading.network import load_network
from mlxp_core.loading.tower import load_tower
from mlxp_core.testing.live import serve_folders
from mlxp_core.testing.looking import look
from mlxp_core.testing.pictures import chequered, encoded, picture
from mlxp_core.types import GenerateRequest, ImageBytes, Message, Text

protocols = pytest.importorskip("mlxp_protocols.openai_chat.plugin", reason="somebody must answer")
TOKENS = 12
RED, BLUE = (200, 10, 10), (10, 10, 200)


def image_part(image):
    return {"type": "image_url", "image_url": {"url": data_url(image)}}


def data_url(image):
    return "data:image/png;base64," + base64.b64encode(image.data).decode()


def body(*parts, **fields):
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else image_part(part) for part in parts
    ]
    asked = {"model": "seer", "messages": [{"role": "user", "content": content}]}
    return {**asked, "temperature": 0, "max_tokens": TOKENS, "logprobs": True, **fields}


def tokens_of(answer, choice=0):
    return [entry["token"] for entry in answer["choices"][choice]["logprobs"]["content"]]


@pytest.fixture
def serve(seer):
    def serve(folder, **engine):
        plugins = [("seer", seer), ("openai_chat", protocols)]
        flags = {"engine": {"dtype": "float32", **engine}}
        return serve_folders(folder, plugins=plugins, flags=flags, path=())

    return serve


@pytest.fixture
def ask(serve):
    """Ask one server one thing."""

    def ask(folder, *parts, fields=None, **engine):
        with serve(folder, **engine) as served:
            answer = served.client.post("/v1/chat/completions", json=body(*parts, **(fields or {})))
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


@pytest.fixture
def expected(loaded):
    """Compute a greedy answer by hand: the whole prompt in one pass, and then token by token."""

    def expected(folder, *parts):
        made = loaded(folder)
        said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        prompt = made.frontend.prepare(GenerateRequest(id="r", model="m", prompt=(Message("user", said),)))
        network = load_network(made.folder, made.family, made.config, dtype="float32")
        tower = load_tower(made.folder, made.frontend.eyes, dtype="float32")
        tokens = mx.array(prompt.tokens)[None]
        embeddings = network.model.embed(tokens)
        for span, pixels in zip(prompt.spans, prompt.images, strict=True):
            embeddings[0, span.start : span.end] = look(tower, pixels)
        cache = BatchCache(network.model.make_caches(network.policy))
        out = []
        while len(out) < TOKENS:
            hidden = forward(network.model, cache, tokens, embeddings=embeddings, images=(prompt.spans,))
            out.append(int(mx.argmax(network.model.logits(hidden[:, -1])).item()))
            if out[-1] in made.frontend.end_tokens:
                break
            tokens, embeddings = mx.array([out[-1:]]), None
        return [made.frontend.tokenizer.token_text(token) for token in out]

    return expected


class TestAnswers:
    @pytest.mark.parametrize("chunk", [1, 3, 7, 512])
    @pytest.mark.parametrize("looks_ahead", [True, False])
    def test_images_are_seen_where_they_are_however_the_prompt_is_cut(
        self, write, ask, expected, chunk, looks_ahead
    ):
        folder = write(looks_ahead=looks_ahead)
        parts = ("one", picture(4, 3), "two", picture(2, 4, BLUE), picture(1, 1))
        assert tokens_of(ask(folder, *parts, prefill_chunk=chunk)) == expected(folder, *parts)

    def test_another_image_is_another_answer(self, write, ask):
        folder = write()
        answers = {tuple(tokens_of(ask(folder, "see", picture(4, 4, colour)))) for colour in (RED, BLUE)}
        assert len(answers) == 2

    def test_rows_with_and_without_images_step_together(self, write, serve, expected):
        folder = write()
        prompts = [("a", picture(4, 2)), ("just words",), (picture(1, 3, BLUE), "b", picture()), ("c",)]
        with serve(folder, prefill_chunk=5) as served, ThreadPoolExecutor(4) as pool:
            asked = [
                pool.submit(served.client.post, "/v1/chat/completions", json=body(*parts))
                for parts in prompts
            ]
            answers = [tokens_of(each.result().json()) for each in asked]
        assert answers == [expected(folder, *parts) for parts in prompts]

    def test_choices_share_what_was_seen(self, write, ask, expected):
        folder = write()
        parts = ("look", picture(4, 4), "!")
        answer = ask(folder, *parts, fields={"n": 3})
        assert [tokens_of(answer, choice) for choice in range(3)] == [expected(folder, *parts)] * 3

    def test_images_count_as_tokens_of_the_prompt(self, write, ask):
        folder = write()
        usage = [ask(folder, *parts)["usage"]["prompt_tokens"] for parts in (("a",), ("a", picture(4, 3)))]
        assert usage[1] - usage[0] == 12 + 2

    def test_the_official_client_sends_images(self, write, serve, expected):
        folder = write()
        photo = picture(3, 3, BLUE)
        with serve(folder) as served, openai.OpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
            answer = client.chat.completions.create(
                model="seer",
                messages=[{"role": "user", "content": [image_part(photo), {"type": "text", "text": "?"}]}],
                temperature=0,
                max_tokens=TOKENS,
                logprobs=True,
            )
        assert [entry.token for entry in answer.choices[0].logprobs.content] == expected(folder, photo, "?")

    def test_eyes_may_lie_beside_the_weights(self, write, ask, expected):
        folder = write(beside=True)
        parts = (picture(4, 4), "?")
        assert tokens_of(ask(folder, *parts)) == expected(folder, *parts)

    def test_any_image_file_will_do(self, write, ask, expected):
        folder = write()
        grey = chequered(3, 3).convert("L")
        parts = (ImageBytes(encoded(grey, "BMP")), "?")
        assert tokens_of(ask(folder, *parts)) == expected(folder, *parts)


class TestRefusals:
    @pytest.fixture
    def refusal(self, serve):
        def refusal(folder, *parts, status=400, **fields):
            with serve(folder) as served:
                answer = served.client.post("/v1/chat/completions", json=body(*parts, **fields))
                fine = served.client.post("/v1/chat/completions", json=body("words"))
            assert fine.status_code == 200
            assert answer.status_code == status, answer.text
            return answer.json()["error"]["message"]

        return refusal

    def test_a_blind_model(self, write, refusal):
        assert "seer cannot see" in refusal(write(vision_config=None), picture())

    def test_eyes_that_fail_to_load_are_another_matter_and_can_be_mended(self, write, serve, expected):
        folder = write(beside=True)
        eyes = folder / "eyes.safetensors"
        whole = eyes.read_bytes()
        eyes.write_bytes(whole[:-9])
        with serve(folder) as served:
            failed = served.client.post("/v1/chat/completions", json=body(picture(), "?"))
            words = served.client.post("/v1/chat/completions", json=body("words"))
            eyes.write_bytes(whole)
            seen = served.client.post("/v1/chat/completions", json=body(picture(), "?"))
        assert failed.status_code == 500
        assert "'seer' can see, but its eyes failed to load" in failed.json()["error"]["message"]
        assert "eyes.safetensors is cut off" in failed.json()["error"]["message"]
        assert words.status_code == 200
        assert tokens_of(seen.json()) == expected(folder, picture(), "?")

    def test_a_damaged_image_is_named(self, write, refusal):
        broken = ImageBytes(picture(9, 9).data[:-30])
        assert "image 2 is damaged" in refusal(write(), picture(), broken)

    def test_an_address_is_not_fetched_by_default(self, write, serve):
        part = {"type": "image_url", "image_url": {"url": "http://img.example/a.png"}}
        with serve(write()) as served:
            asked = {**body(), "messages": [{"role": "user", "content": [part]}]}
            answer = served.client.post("/v1/chat/completions", json=asked)
        assert answer.status_code == 400
        assert "this server fetches no images" in answer.json()["error"]["message"]

    def test_seventeen_images(self, write, refusal):
        assert "may have 16 images, not 17" in refusal(write(), *[picture(1, 1)] * 17)

    def test_a_prompt_that_images_make_too_long(self, write, refusal):
        long = refusal(write(max_position_embeddings=40), *[picture(4, 4)] * 3)
        assert "reads at most 40" in long
