"""A model in this process answers as a server's would."""

import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.answering import answering
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.recut import recut
from mlxp_core.types import Finished, GenerateRequest, Message, Sampling, Text


@pytest.fixture(scope="module")
def sketch(tmp_path_factory):
    with answering(write_sketch(tmp_path_factory.mktemp("models") / "sketch")) as model:
        yield model


def request(ident, words, limit):
    return GenerateRequest(
        id=ident,
        model="sketch",
        prompt=(Message("user", (Text(words),)),),
        sampling=Sampling(temperature=0.0),
        max_tokens=limit,
    )


def test_each_request_gets_its_own_answer(sketch):
    requests = [request(f"r{limit}", "word " * limit, limit) for limit in (1, 5, 9)]
    together = sketch.ask(*requests)
    for each, events in zip(requests, together, strict=True):
        check_grammar(events)
        assert events[0].request_id == each.id
        assert isinstance(events[-1], Finished)
        assert events[-1].usage.completion <= each.max_tokens
        (alone,) = sketch.ask(each)
        assert recut(alone[:-1], 1 << 30) == recut(events[:-1], 1 << 30)
