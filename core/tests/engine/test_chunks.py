"""How a prompt with images is cut into chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mlxp_core.contracts import ImageSpan
from mlxp_core.engine.sequence import Sequence
from mlxp_core.prompting import Prompt

RUNS = st.lists(st.integers(1, 9), min_size=1, max_size=8)
"""Lengths of runs in turn of words and of an image."""


def prompt_of(runs, *, whole):
    places = [sum(runs[:at]) for at in range(len(runs))]
    spans = tuple(
        ImageSpan(place, count, (1, 1, count))
        for at, (place, count) in enumerate(zip(places, runs, strict=True))
        if at % 2
    )
    return Prompt(tokens=tuple(range(sum(runs))), spans=spans, whole_images=whole)


@pytest.fixture(scope="module")
def chunks_of(orders):
    def chunks_of(prompt, limit):
        (order,) = orders().orders
        sequence = Sequence(0, replace(order, prompt=prompt), 0.0)
        chunks = []
        while sequence.read < len(prompt.tokens):
            chunks.append((sequence.read, sequence.next_chunk(limit)))
            sequence.advance(chunks[-1][1])
        return chunks

    return chunks_of


@given(runs=RUNS, limit=st.integers(1, 12))
def test_no_chunk_cuts_an_image_that_must_not_be_cut(chunks_of, runs, limit):
    prompt = prompt_of(runs, whole=True)
    for start, count in chunks_of(prompt, limit):
        assert count > 0
        assert not any(span.start < start + count < span.end for span in prompt.spans)
        longer = [span for span in prompt.spans if span.start == start and span.count > limit]
        assert count <= limit or (longer and count == longer[0].count)


@given(runs=RUNS, limit=st.integers(1, 12))
def test_other_prompts_are_cut_by_length_alone(chunks_of, runs, limit):
    chunks = chunks_of(prompt_of(runs, whole=False), limit)
    assert all(count == limit for _, count in chunks[:-1])
    assert sum(count for _, count in chunks) == sum(runs)
