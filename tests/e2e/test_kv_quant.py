"""Quantized keys and values behind real servers: every family, in company and alone, cold and warm."""

import base64
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

LENGTH = 12
TEXTS = ("Hello", "Count to three. " * 12, "Is water wet? Say why.", "A long walk home, " * 20)
FAMILIES = ("minicpm5", "qwen35-text", "gemma4-e2b-text")
WITHOUT_MEMORY = {"prompt_cache_bytes": 0}


def user(text):
    return [{"role": "user", "content": text}]


@pytest.fixture
def folder(request):
    """The model that is always there, or one of each family."""
    if request.param == "sketch":
        return request.getfixturevalue("sketch")
    return request.getfixturevalue("tiny_checkpoints") / request.param


def answers(chat, client, workers):
    """Ask everything at once, as far as there are workers; return the answers and the cached tokens of each."""

    def ask(text):
        answer = chat(client, stream=False, messages=user(text), max_tokens=LENGTH)
        return answer.only.text, answer.usage.prompt_tokens_details.cached_tokens

    with ThreadPoolExecutor(workers) as pool:
        return zip(*pool.map(ask, TEXTS), strict=True)


@pytest.mark.parametrize("bits", ["8", "4"])
@pytest.mark.parametrize("folder", ["sketch", *FAMILIES], indirect=True)
def test_an_answer_is_the_same_alone_in_company_cold_and_warm(live, official, chat, folder, bits):
    with live(folder, flags={"engine": {"kv_quant": bits, **WITHOUT_MEMORY}}) as served:
        alone, _ = answers(chat, official(served.url), 1)
        in_company, cached = answers(chat, official(served.url), len(TEXTS))
    assert in_company == alone
    assert not any(cached)
    with live(folder, flags={"engine": {"kv_quant": bits, "prefill_chunk": 64}}) as served:
        in_chunks, _ = answers(chat, official(served.url), 1)
        warm, cached = answers(chat, official(served.url), len(TEXTS))
    assert in_chunks == warm == alone
    assert any(cached)


@pytest.mark.parametrize(
    ("kv_quant", "layers"),
    [("off", {"float32": 2}), ("config", {"kv8-g32": 1, "float32": 1}), ("4", {"kv4-g32": 2})],
)
def test_statistics_tell_the_scheme_in_force(live, sketch, tmp_path, kv_quant, layers):
    folder = shutil.copytree(sketch, tmp_path / "model")
    listed = [{"layer_idx": 1, "bits": 8, "group_size": 32}]
    (folder / "kv_config.json").write_text(json.dumps(listed))
    with live(folder, flags={"engine": {"kv_quant": kv_quant}}) as served:
        told = httpx.get(f"{served.url}/stats").json()["kv_quant"]
    assert told["mode"] == kv_quant
    assert told["layers"] == layers
    assert told["attention"] == {"global": 2, "sliding_window": 0}


def test_images_are_seen_through_quantized_keys(live, official, tiny_checkpoints):
    folder = tiny_checkpoints / "gemma4-e2b"
    data = base64.b64encode((folder / "test_image.png").read_bytes()).decode()
    content = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "text", "text": "What is it?"},
    ]
    told = []
    for kv_quant in ("off", "8"):
        with live(folder, flags={"engine": {"kv_quant": kv_quant}}) as served:
            answer = official(served.url).chat.completions.create(
                model="", messages=user(content), max_tokens=LENGTH, temperature=0
            )
            told.append((answer.usage.prompt_tokens, answer.choices[0].finish_reason))
    assert told[0] == told[1]
    assert told[0][0] > 50
