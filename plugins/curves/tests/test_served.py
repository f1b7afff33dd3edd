"""Over HTTP, with real weights."""

import math
import uuid
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.client import serve
from mlxp_core.testing.engine import HOLD
from mlxp_core.testing.live import serve_folders
from mlxp_curves.decode import CurveDecoder
from mlxp_curves.plugin import CurvesPlugin
from mlxp_curves.protocol import make_protocol

FLOAT32 = {"engine": {"dtype": "float32"}}
DIAGONAL = [{"x_pct": pct, "y_pct": pct} for pct in (1e-4, 0.1, 1, 9, 100)]
STEEP = [{"x_pct": 1e-4, "y_pct": 1e-9}, {"x_pct": 100, "y_pct": 100}]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serve_folders(write_sketch(tmp_path_factory.mktemp("models") / "sketch"), flags=FLOAT32) as running:
        yield running


@pytest.fixture(scope="module")
def official(served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def post(served):
    def ask(path, **body):
        answer = served.client.post(path, json={"prompt": "hello", **body})
        return answer.status_code, answer.json()

    return ask


def chat(client, stages=None, **more):
    return client.chat.completions.create(
        model="",
        messages=[{"role": "user", "content": "hello"}],
        extra_body={"sampler_stages": stages or {}},
        **{"max_tokens": 12, "seed": 5, **more},
    )


def texts(answer):
    return [choice.message.content for choice in answer.choices]


def test_the_signal_is_the_models_distribution(post, official):
    """Bins and names agree with the log-probabilities that a chat reports for its first token."""
    status, told = post("/v1/curves/signal", likeliest=20)
    assert status == 200
    assert len(told["bins"]) == 80
    assert sum(told["bins"]) == told["vocab"]
    chosen = chat(official, logprobs=True, top_logprobs=20, max_tokens=1).choices[0].logprobs.content[0]
    expected = [top.logprob for top in chosen.top_logprobs]
    assert [each["logprob"] for each in told["likeliest"]] == pytest.approx(expected, abs=1e-4)
    best = told["likeliest"][0]["logprob"]
    assert max(at for at, count in enumerate(told["bins"]) if count) == math.floor(
        80 * (1 - best / math.log(1e-6))
    )


def test_paths_of_old_answer_the_same(post):
    assert post("/signal") == post("/v1/curves/signal")
    body = {"seed": 3, "n": 2, "max_tokens": 8}
    old, new = (post(path, **body)[1]["samples"] for path in ("/generate", "/v1/curves/generate"))
    assert old == new


def test_samples_are_those_of_a_chat_with_the_same_curve(post, official):
    points = {"points": STEEP}
    status, told = post("/v1/curves/generate", curve=points, n=3, max_tokens=12, seed=5)
    assert status == 200
    assert (told["mode"], told["n"], told["seed"]) == ("curve", 3, 5)
    assert "recipe" not in told
    by_chat = chat(official, {"curve": points}, n=3)
    assert [each["text"] for each in told["samples"]] == [text.strip() for text in texts(by_chat)]


def test_the_default_is_a_chat_without_a_curve(post, official):
    _, told = post("/v1/curves/generate", curve={"points": STEEP}, default=True, n=2, max_tokens=12, seed=5)
    assert told["mode"] == "default"
    assert told["recipe"] == {"temperature": 0.9, "topP": 0.95, "topK": 0}
    assert [each["text"] for each in told["samples"]] == [text.strip() for text in texts(chat(official, n=2))]


def test_the_diagonal_is_temperature_one(official):
    plain = chat(official, temperature=1, top_p=1, n=4)
    assert texts(chat(official, {"curve": {"points": DIAGONAL}}, temperature=0, n=4)) == texts(plain)


@pytest.mark.parametrize("temperature", [0, 0.6, 1])
def test_hlg_without_softness_is_the_temperature(official, temperature):
    straight = {"hlg": {"shoulder": 0, "toe": 0}}
    plain = chat(official, temperature=temperature, top_p=1, n=4)
    assert texts(chat(official, straight, temperature=temperature, n=4)) == texts(plain)


def test_at_temperature_zero_hlg_takes_the_likeliest(official):
    assert texts(chat(official, {"hlg": {}}, temperature=0)) == texts(chat(official, temperature=0))


def test_a_row_with_a_curve_is_the_same_among_others(official):
    """Rows of one batch with different stages, or none, say what they say alone."""
    asked = [{}, {"curve": {"points": STEEP}}, {"hlg": {"width": 0}}, {"hlg": {"mode": "shaper"}}]
    alone = [texts(chat(official, stages, temperature=1, max_tokens=30)) for stages in asked]
    with ThreadPoolExecutor(len(asked)) as pool:
        together = list(
            pool.map(lambda stages: texts(chat(official, stages, temperature=1, max_tokens=30)), asked)
        )
    assert together == alone


def test_a_falling_curve_is_refused_by_both(post, official):
    falling = {"points": [{"x_pct": 1, "y_pct": 2}, {"x_pct": 2, "y_pct": 1}]}
    status, told = post("/generate", curve=falling)
    assert status == 400
    assert "falls" in told["error"]
    assert told["param"] == "curve"
    with pytest.raises(openai.BadRequestError, match="falls"):
        chat(official, {"curve": falling})


def test_a_body_that_is_no_json_is_refused(served):
    answer = served.client.post("/generate", content=b"{")
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]


def test_unknown_paths_have_the_same_shape(served):
    answer = served.client.get("/v1/curves/nothing")
    assert answer.status_code == 404
    assert isinstance(answer.json()["error"], str)


# ── In the same queue, under the same budget ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["/v1/curves/generate", "/v1/curves/signal"])
def test_a_full_queue_refuses_it_like_a_chat(path):
    protocol = make_protocol(CurveDecoder(lambda: f"curve-{uuid.uuid4().hex}", lambda _: None))
    with serve([protocol], [HOLD], flags={"engine": {"batch": 1, "queue": 1}}) as running:
        body = {"prompt": "hello", "n": 1}
        with ThreadPoolExecutor(2) as pool:
            waiting = []
            for count in (1, 2):
                waiting.append(pool.submit(running.client.post, "/v1/curves/generate", json=body))
                while running.call(lambda: len(running.engine.holding)) < count:
                    pass
            refused = running.client.post(path, json={"prompt": "hello"})
            running.call(running.engine.release)
            assert [each.result().status_code for each in waiting] == [200, 200]
    assert refused.status_code == 429
    assert refused.headers["retry-after"]
    assert refused.json()["code"] == "rate_limit_exceeded"


def test_what_never_fits_the_memory_is_refused_like_a_chat(tmp_path):
    folder = write_sketch(tmp_path / "sketch")
    flags = {"engine": {"dtype": "float32", "memory_budget": "24MB"}}
    with serve_folders(folder, flags=flags) as running:
        most = running.client.get("/fit?skus=false").json()["context_tokens"]
        assert most < 4000, "the budget does not bind; lower it"
        long = "x" * (most + 100)
        chat = {"messages": [{"role": "user", "content": long}], "max_tokens": 1}
        refused = running.client.post("/v1/chat/completions", json=chat)
        for path in ("/v1/curves/generate", "/v1/curves/signal"):
            answer = running.client.post(path, json={"prompt": long, "max_tokens": 1})
            assert answer.status_code == refused.status_code == 400
            assert answer.json()["code"] == refused.json()["error"]["code"]


def test_the_designers_short_address_leads_to_it(served):
    answer = served.client.get("/curves", follow_redirects=False)
    assert answer.status_code in {302, 307}
    assert answer.headers["location"] == "/#/curves"


def test_without_the_web_app_there_is_no_page():
    with serve([], (), plugins=[("curves", CurvesPlugin)]) as running:
        assert running.client.get("/curves").status_code == 404
        assert running.client.post("/v1/curves/signal", json={"prompt": "hello"}).status_code == 200
