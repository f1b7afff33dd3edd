"""What a request did not say."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.desk.defaults import answer_length, fill, usual
from mlxp_core.errors import ContextOverflow
from mlxp_core.types import GenerateRequest, GenerationDefaults, GenerationSettings, ModelInfo, Sampling

FIELDS = ("temperature", "top_p", "top_k", "min_p")


def model(**defaults):
    return ModelInfo(
        id="real",
        path=Path("real"),
        family="f",
        context=100,
        vocabulary=50,
        weight_bytes=0,
        defaults=GenerationDefaults(**defaults),
    )


def request(**sampling):
    return GenerateRequest(id="r", model="asked", prompt="hi", sampling=Sampling(**sampling))


def maybe(values):
    return st.none() | values


numbers = st.fixed_dictionaries(
    {
        "temperature": maybe(st.floats(0, 2)),
        "top_p": maybe(st.floats(0, 1)),
        "top_k": maybe(st.integers(0, 50)),
        "min_p": maybe(st.floats(0, 1)),
    }
)


@given(numbers, numbers, numbers)
def test_the_request_wins_over_the_deployment_and_that_over_the_model(asked, deployed, recommended):
    filled = fill(
        request(**asked), settings=GenerationSettings(**deployed), model=model(**recommended), seed=3
    )
    ours = {"temperature": 0.7, "top_p": 0.0, "top_k": 0, "min_p": 0.0}
    for name in FIELDS:
        layers = (asked[name], deployed[name], recommended[name], ours[name])
        assert getattr(filled.sampling, name) == next(value for value in layers if value is not None)


def test_nothing_stays_unsaid():
    sampling = fill(request(), settings=GenerationSettings(), model=model(), seed=3).sampling
    assert None not in [getattr(sampling, name) for name in (*FIELDS, "seed", "repetition_penalty")]


def test_a_seed_is_kept_even_when_it_is_zero():
    assert fill(request(seed=0), settings=GenerationSettings(), model=model(), seed=3).sampling.seed == 0


def test_the_request_carries_the_models_own_name():
    assert fill(request(), settings=GenerationSettings(), model=model(), seed=3).model == "real"


def test_top_k_is_cut_to_the_vocabulary():
    assert (
        fill(request(top_k=10**6), settings=GenerationSettings(), model=model(), seed=3).sampling.top_k == 50
    )


@pytest.mark.parametrize(
    ("asked", "deployed", "expected"), [(False, True, False), (None, True, True), (None, None, None)]
)
def test_thinking_follows_the_request_then_the_deployment(asked, deployed, expected):
    wanted = GenerateRequest(id="r", model="", prompt="hi", thinking=asked)
    filled = fill(wanted, settings=GenerationSettings(thinking=deployed), model=model(), seed=3)
    assert filled.thinking is expected


@given(st.integers(1, 99), st.integers(1, 5000))
def test_an_answer_without_a_limit_gets_what_the_context_leaves_at_most(prompt, usual):
    length = answer_length(None, prompt=prompt, usual=usual, model=model())
    assert 1 <= length <= usual
    assert prompt + length <= 100


@given(st.integers(1, 99), st.integers(1, 200))
def test_a_limit_is_kept_or_refused_but_never_changed(prompt, asked):
    if prompt + asked <= 100:
        assert answer_length(asked, prompt=prompt, usual=9, model=model()) == asked
        return
    with pytest.raises(ContextOverflow) as caught:
        answer_length(asked, prompt=prompt, usual=9, model=model())
    assert all(str(number) in caught.value.message for number in (prompt, asked, 100))


def test_a_prompt_that_fills_the_context_is_refused():
    with pytest.raises(ContextOverflow, match="100 tokens"):
        answer_length(None, prompt=100, usual=9, model=model())


@given(numbers, numbers)
def test_what_is_usual_is_what_a_silent_request_gets(deployment, own):
    settings, info = GenerationSettings(**deployment), model(**own)
    told = usual(SimpleNamespace(section=lambda _: settings), [info])["real"]
    got = fill(request(), settings=settings, model=info, seed=1).sampling
    assert {name: getattr(told, name) for name in FIELDS} == {name: getattr(got, name) for name in FIELDS}
    assert told.repetition_penalty == got.repetition_penalty
