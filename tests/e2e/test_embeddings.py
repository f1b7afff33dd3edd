"""Vectors from a server with real weights: the same alone and among others, in one piece and in many."""

import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor

import mlx.core as mx
import openai
import pytest
from mlx.utils import tree_map

TEXTS = ["weather", "the weather in Łódź", "hello " * 40, "a", "1 2 3", "a"]
NEAR = 1e-5


def vectors(client, given, **more):
    answer = client.embeddings.create(model="", input=given, encoding_format="float", **more)
    return [one.embedding for one in answer.data]


def test_a_vector_is_the_same_alone_and_in_a_list(client):
    together = vectors(client, TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert vectors(client, text) == [pytest.approx(vector, abs=NEAR)]
        assert math.hypot(*vector) == pytest.approx(1, abs=NEAR)
    assert together[3] == together[5]
    assert together[0] != together[1]


def test_a_vector_is_the_same_while_others_are_answered(client, chat):
    alone = vectors(client, TEXTS)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(chat, client, stream=False, max_tokens=24) for _ in range(4)]
        together = list(pool.map(lambda text: vectors(client, text)[0], TEXTS))
        assert len({answer.result().only.text for answer in answers}) == 1
    assert together == [pytest.approx(vector, abs=NEAR) for vector in alone]


@pytest.mark.parametrize("chunk", [1, 7])
def test_a_vector_is_the_same_in_small_pieces(live, official, model, client, chunk):
    with live(model, flags={"engine": {"prefill_chunk": chunk}}) as served:
        in_pieces = vectors(official(served.url), TEXTS)
    assert in_pieces == [pytest.approx(vector, abs=NEAR) for vector in vectors(client, TEXTS)]


def test_both_formats_and_token_ids_say_the_same(client, served):
    tokens = served.client.post("/tokenize", json={"prompt": TEXTS[1]}).json()["tokens"]
    packed = client.embeddings.create(model="", input=[TEXTS[1]])  # the client asks for base64 by itself
    assert packed.usage.prompt_tokens == packed.usage.total_tokens == len(tokens)
    expected = pytest.approx(packed.data[0].embedding, abs=NEAR)
    assert vectors(client, TEXTS[1])[0] == expected
    assert vectors(client, tokens)[0] == expected
    assert vectors(client, [tokens, [1]])[0] == expected


def test_fewer_dimensions_are_the_first_ones_at_length_one(client):
    whole, short = vectors(client, "hello")[0], vectors(client, "hello", dimensions=5)[0]
    length = math.hypot(*whole[:5])
    assert short == pytest.approx([number / length for number in whole[:5]], abs=NEAR)


def test_too_many_dimensions_are_refused_with_how_many_there_are(client):
    with pytest.raises(openai.BadRequestError, match="cannot be had") as caught:
        vectors(client, "hello", dimensions=100_000)
    assert caught.value.param == "dimensions"


def test_many_inputs_neither_fill_the_queue_nor_lose_their_order(live, official, sketch):
    with live(sketch, flags={"engine": {"queue": 1, "batch": 2}}) as served:
        texts = [f"text {number % 50}" for number in range(200)]
        found = vectors(official(served.url), texts)
        assert len(found) == 200
        assert found[:50] == found[50:100] == found[150:]
        assert served.call(served.engine.stats).finished == 50


POOLING = {
    "pooling_mode_lasttoken": lambda hidden: hidden[-1],
    "pooling_mode_mean_tokens": lambda hidden: hidden.mean(axis=0),
    None: lambda hidden: (hidden * mx.arange(1, len(hidden) + 1)[:, None]).sum(axis=0),
}


@pytest.mark.parametrize("switch", POOLING, ids=str)
def test_hidden_states_are_mlx_lms_pooled_as_the_folder_says(live, official, tiny, tmp_path, switch):
    mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is the oracle")
    folder = tmp_path / "model"
    shutil.copytree(tiny, folder)
    if switch is not None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({switch: True}), encoding="utf-8")
    model, _ = mlx_lm.load(str(tiny))
    model.update(tree_map(lambda array: array.astype(mx.float32), model.parameters()))
    with live(folder) as served:
        tokens = served.client.post("/tokenize", json={"prompt": TEXTS[1]}).json()["tokens"]
        found = vectors(official(served.url), TEXTS[1])[0]
    pooled = POOLING[switch](model.model(mx.array(tokens)[None])[0])
    assert found == pytest.approx((pooled / mx.linalg.norm(pooled)).tolist(), abs=1e-4)
