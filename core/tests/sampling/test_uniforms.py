"""The counter that replaces a generator."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.sampling import step_seed, uniform

SEEDS = st.integers(-(2**80), 2**80)
STEPS = st.integers(0, 2**20)


@pytest.mark.parametrize(
    ("seed", "step", "number"),
    [
        (0, 0, 0x9E3779B97F4A7C15),
        (42, 0, 0x9E3779B97F4A7C3F),
        (42, 1, 0x3C6EF372FE94F800),
        (7, 15, 0xE3779B97F4A7C157),
    ],
)
def test_seed_of_a_step(seed, step, number):
    assert step_seed(seed, step) == number


def test_seed_zero_gives_the_published_sequence_of_splitmix64():
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)
    assert [uniform(0, step) for step in range(3)] == [(number >> 40) / 2**24 for number in published]


@given(SEEDS, STEPS)
def test_any_integer_gives_a_float32_below_one(seed, step):
    number = uniform(seed, step)
    assert 0 <= number < 1
    assert struct.unpack("f", struct.pack("f", number))[0] == number


@given(SEEDS, STEPS)
def test_seeds_count_modulo_two_to_the_64(seed, step):
    assert uniform(seed, step) == uniform(seed + 2**64, step)


@pytest.mark.parametrize(
    "numbers", [[uniform(7, i) for i in range(20000)], [uniform(i, 3) for i in range(20000)]]
)
def test_numbers_fill_the_interval_evenly(numbers):
    counts = [0] * 100
    for number in numbers:
        counts[int(number * 100)] += 1
    chi2 = sum((count - 200) ** 2 / 200 for count in counts)
    assert 50 < chi2 < 160  # 99 degrees of freedom: outside this less than once in ten thousand
