"""What a completions body asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import BadRequest
from mlxp_protocols.token_lists import read_prompts

IDS = st.lists(st.integers(0, 1000), min_size=1)
TEXTS = st.lists(st.text(), min_size=1)


@pytest.mark.parametrize(
    ("prompt", "first", "others"),
    [
        ("one", "one", ()),
        ("", "", ()),
        (["one"], "one", ()),
        (["one", "two"], "one", ("two",)),
        ([1, 2], (1, 2), ()),
        ([[1, 2], [3]], (1, 2), ((3,),)),
    ],
)
def test_each_form_of_a_prompt_means_its_prompts(decode, prompt, first, others):
    request = decode(prompt=prompt).request
    assert (request.prompt, request.further_prompts) == (first, others)


@given(st.one_of(TEXTS, st.lists(IDS, min_size=1)))
def test_a_list_of_anything_but_numbers_is_as_many_prompts(given):
    expected = tuple(tuple(each) if isinstance(each, list) else each for each in given)
    assert read_prompts(given, "prompt", "") == expected


@given(IDS)
def test_a_list_of_numbers_is_one_prompt(numbers):
    assert read_prompts(numbers, "prompt", "") == (tuple(numbers),)


@given(TEXTS, IDS)
def test_a_mixture_is_refused(texts, numbers):
    with pytest.raises(BadRequest, match="all of one kind"):
        read_prompts([*texts, *numbers], "prompt", "hint")


@pytest.mark.parametrize("prompt", [None, [], [[]], [1, "a"], [["a"]], {}, 3, [-1], [None]])
def test_other_prompts_are_refused_with_what_to_send(decode, prompt):
    with pytest.raises(BadRequest) as caught:
        decode(prompt=prompt)
    assert caught.value.param.startswith("prompt")


def test_an_answer_has_sixteen_tokens_unless_said_otherwise(decode):
    assert decode().request.max_tokens == 16
    assert decode(max_tokens=None).request.max_tokens == 16
    assert decode(max_tokens=3).request.max_tokens == 3


def test_best_of_may_only_be_n(decode):
    assert decode(best_of=1).request.choices == 1
    assert decode(best_of=3, n=3).request.choices == 3
    for body in ({"best_of": 2}, {"best_of": 1, "n": 2}):
        with pytest.raises(BadRequest, match="best_of"):
            decode(**body)


def test_echo_and_logprobs_are_fine_alone(decode):
    assert decode(echo=True).request.echo
    assert decode(echo=False, logprobs=0).request.top_scores == 0
    with pytest.raises(BadRequest, match=r"echo.*logprobs"):
        decode(echo=True, logprobs=0)


def test_six_rivals_are_too_many(decode):
    assert decode(logprobs=5).request.top_scores == 5
    with pytest.raises(BadRequest, match="logprobs"):
        decode(logprobs=6)


def test_sampling_and_extensions_are_passed_on(decode):
    request = decode(
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        min_p=0.1,
        seed=4,
        repetition_penalty=1.1,
        repetition_window=9,
        presence_penalty=1,
        frequency_penalty=-1,
        logit_bias={"5": 2},
        stop=["a", "b"],
        adapter="x+y",
    ).request
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p) == (0.5, 0.9, 3, 0.1)
    assert (sampling.seed, sampling.repetition_penalty, sampling.repetition_window) == (4, 1.1, 9)
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (1, -1)
    assert sampling.logit_bias == {5: 2}
    assert (request.stop, request.adapters) == (("a", "b"), ("x", "y"))
