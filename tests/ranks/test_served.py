"""A server whose model two ranks compute says what one alone says: the engine knows nothing of ranks."""

import base64
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import openai
import pytest

from mlxp_core.testing.live import serve_folders

MODELS = ("minicpm5", "qwen35-text", "gemma4-e2b-text")
PATIENCE_S = 60
LONG = "The weather in town was cold and grey, so we went home to read a book about it. " * 2
TURNS = [
    {"role": "user", "content": LONG},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "And then?"},
]
FLAGS = {"engine": {"dtype": "float32", "kv_quant": "off", "batch": 3, "prefill_chunk": 64}}


class Asked:
    """A server, and what it says to the official client."""

    def __init__(self, served):
        self.url, self.engine = served.url, served.engine
        self._client = openai.OpenAI(
            base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE_S
        )

    def __call__(self, messages, **more):
        """Return what each choice says and why it ends, and how much of the prompt was known."""
        asked = {"max_tokens": 6, "temperature": 0, **more}
        answer = self._client.chat.completions.create(model="", messages=messages, **asked)
        return [_said(choice) for choice in answer.choices], answer.usage.prompt_tokens_details.cached_tokens

    def close(self):
        self._client.close()


def _said(choice):
    return choice.finish_reason, choice.message.content, choice.message.model_extra.get("reasoning_content")


@pytest.fixture(scope="module", params=MODELS)
def both(request, leader, tiny_checkpoints):
    """The same model, served by this process alone and by two."""
    with (
        serving(tiny_checkpoints / request.param) as alone,
        serving(tiny_checkpoints / request.param, leader) as ranks,
    ):
        yield alone, ranks


@contextmanager
def serving(folder, leader=None, **engine):
    with serve_folders(folder, flags={"engine": {**FLAGS["engine"], **engine}}, leader=leader) as served:
        asked = Asked(served)
        yield asked
        asked.close()


def same(both, ask):
    """Ask both servers the same; the answers must agree."""
    expected, found = (ask(server) for server in both)
    assert found == expected
    return found


def test_rows_join_and_leave_as_they_do_without(both):
    """Answers of several lengths share a batch of three rows, greedy ones and others."""

    def ask(server):
        def one(number):
            warm = {"temperature": 0.8, "seed": number} if number % 2 else {}
            return server(
                [{"role": "user", "content": f"{number} {LONG[: 30 * number]}"}],
                max_tokens=3 + 2 * number,
                **warm,
            )[0]

        with ThreadPoolExecutor(6) as pool:
            return list(pool.map(one, range(6)))

    assert len({said for answers in same(both, ask) for said in answers}) > 1


def test_choices_fork_from_one_prompt(both):
    same(both, lambda server: server(TURNS[:1], n=3, temperature=0.9, seed=5)[0])


def test_known_prompts_are_gone_on_from(both):
    def ask(server):
        return [
            server([{"role": "system", "content": "Be brief."}, *turns])
            for turns in (TURNS[:1], TURNS, TURNS)
        ]

    answers = same(both, ask)
    first, second, third = (cached for _, cached in answers)
    assert first < second <= third  # turn by turn, more is known
    _, ranks = both
    assert ranks.engine.stats().prompt_cache.off is None


def test_an_answer_that_nobody_waits_for_leaves_the_batch(both):
    """A client goes in the middle; the next one is answered as if it had never been there."""

    def ask(server):
        body = {"model": "", "messages": TURNS[:1], "max_tokens": 400, "stream": True, "ignore_eos": True}
        with httpx.stream(
            "POST", f"{server.url}/v1/chat/completions", json=body, timeout=PATIENCE_S
        ) as answer:
            next(answer.iter_text())
        return server(TURNS[:1])[0]

    same(both, ask)


def test_images_are_seen_by_the_first_rank_for_all(leader, tiny_checkpoints):
    folder = tiny_checkpoints / "qwen35"
    data = base64.b64encode((folder / "test_image.png").read_bytes()).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    shown = [{"role": "user", "content": [image, {"type": "text", "text": "What is it?"}]}]

    def ask(server):
        return [server(shown), server([*shown, *TURNS[1:]])]

    with serving(folder) as alone, serving(folder, leader) as ranks:
        (_, known), (_, more) = same((alone, ranks), ask)
        assert known < more


@pytest.mark.parametrize("model", ["qwen35-text"])
def test_guesses_are_tried_and_taken_back_on_all_ranks(leader, tiny_checkpoints, model):
    text = [{"role": "user", "content": "Say it again and again. " * 9}]
    with serving(tiny_checkpoints / model) as alone:
        expected = alone(text, max_tokens=24)
    with serving(tiny_checkpoints / model, leader, speculate="lookup") as ranks:
        assert ranks(text, max_tokens=24) == expected
