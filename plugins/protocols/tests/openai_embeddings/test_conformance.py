"""Embeddings against the shared kit, read back with the official client's own types."""

import array
import base64
import inspect
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.resources.embeddings import Embeddings
from openai.types import CreateEmbeddingResponse

from mlxp_core.errors import BadRequest
from mlxp_core.testing.exchange import ExchangeSuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.types import Embedded, EmbedRequest, WireRequest
from mlxp_protocols.openai_embeddings import plugin as module
from mlxp_protocols.openai_embeddings.exchange import EmbeddingDecoder, render_base64, render_floats
from mlxp_protocols.openai_embeddings.fields import FIELDS

PROTOCOL = module.make_protocol(EmbeddingDecoder(lambda: "embd-1"))


def decode(**body):
    return PROTOCOL.endpoints[0].decode(WireRequest(body=json.dumps({"input": "hi", **body}).encode()))


def from_base64(text):
    """Return the numbers as the official client reads them: float32, lowest byte first."""
    numbers = array.array("f", base64.b64decode(text))
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


class TestFloats(ExchangeSuite):
    path = "/v1/embeddings"
    asks = EmbedRequest
    required = frozenset({"input"})

    @pytest.fixture
    def protocol(self):
        return PROTOCOL

    def body(self):
        return {"input": ["hi", "ho"]}

    def answers(self):
        return [
            Embedded(model="m", vectors=((0.6, -0.8), (1.0, 0.0)), tokens=7),
            Embedded(model="", vectors=((1.0,),), tokens=0),
            Embedded(model="ü", vectors=((0.1, 1e-30, -0.0),) * 3, tokens=2**40),
        ]

    def read_back(self, said):
        answer = CreateEmbeddingResponse.model_validate_json(said, strict=True)
        assert [one.index for one in answer.data] == list(range(len(answer.data)))
        return answer.model, [tuple(one.embedding) for one in answer.data], answer.usage.model_dump()

    def told(self, answer):
        usage = {"prompt_tokens": answer.tokens, "total_tokens": answer.tokens}
        return answer.model, list(answer.vectors), usage


class TestBase64(TestFloats):
    def body(self):
        return {"input": [[1, 2], [3]], "encoding_format": "base64"}

    def read_back(self, said):
        answer = json.loads(said)
        vectors = [from_base64(one["embedding"]) for one in answer["data"]]
        return answer["model"], vectors, answer["usage"]

    def told(self, answer):
        model, vectors, usage = super().told(answer)
        return model, [tuple(array.array("f", vector)) for vector in vectors], usage


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module


def test_every_parameter_of_the_official_client_is_classified():
    taken = set(inspect.signature(Embeddings.create).parameters)
    transport = {"self", "extra_headers", "extra_query", "extra_body", "timeout"}
    assert taken - transport == {field.name for field in FIELDS}


@pytest.mark.parametrize(
    ("given", "inputs"),
    [("a", ("a",)), (["a", "b"], ("a", "b")), ([1, 2], ((1, 2),)), ([[1], [2, 3]], ((1,), (2, 3)))],
)
def test_each_form_of_input_means_its_inputs(given, inputs):
    assert decode(input=given).question.inputs == inputs


@pytest.mark.parametrize("given", [None, "", [], [""], [[]], ["a", 1], [1, [2]], 5, {"a": 1}, ["a"] * 2049])
def test_other_inputs_are_refused_with_what_to_send(given):
    with pytest.raises(BadRequest, match="send a text") as caught:
        decode(input=given)
    assert caught.value.param.startswith("input")


@pytest.mark.parametrize("fields", [{"encoding_format": "int8"}, {"dimensions": 0}, {"dimensions": "all"}])
def test_other_formats_and_sizes_are_refused(fields):
    with pytest.raises(BadRequest) as caught:
        decode(**fields)
    assert caught.value.param in fields


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=20).map(tuple))
def test_both_formats_say_the_same_numbers(vector):
    answer = Embedded(model="m", vectors=(vector,), tokens=1)
    floats, text = (json.loads(render(answer).body)["data"][0] for render in (render_floats, render_base64))
    assert from_base64(text["embedding"]) == tuple(floats["embedding"]) == vector
