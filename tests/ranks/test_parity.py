"""A network of two ranks computes what the whole one does, whatever happens to its rows."""

import json
import shutil

import mlx.core as mx
import pytest
from rank_sources import source_of

from mlxp_core.adapters.mounts import Mounts
from mlxp_core.contracts import ImageSpan
from mlxp_core.errors import BadAdapter, ModelFolderError, UnsupportedModel
from mlxp_core.kv import forward
from mlxp_core.loading.network import load_network
from mlxp_core.loading.parts import part_of
from mlxp_core.loading.weighing import weigh
from mlxp_core.memory.device import this_machine
from mlxp_core.testing.family import assert_close
from mlxp_core.testing.networks import Session

MODELS = [
    "minicpm5",
    "minicpm5-4bit-g32",
    "qwen35-text",
    "qwen35-moe-4bit-g32",
    "gemma4-e2b-text",
    "gemma4-26b-a4b",
]
"""A query head each for two ranks at least; some have one head of keys and values, which both hold."""

CLOSE = 2e-5
"""Of the largest logit: sums of parts are rounded in another order."""

LONG, SHORT, LATE = [5, 9, 2, 77, 31, 8, 100, 6, 44], [3, 4, 5], [12, 13, 14, 15]


class Row(Session):
    """Rows of a network, with caches as it was loaded."""

    def __init__(self, network):
        super().__init__(network.model, policy=network.policy)
        self.loaded = network

    def joined(self, *others):
        for other in others:
            self.cache.join(other.cache)
        return self


@pytest.fixture(scope="module", params=MODELS)
def pair(request, leader, tiny_checkpoints):
    """The same model whole, and in two parts."""
    return loaded(leader, tiny_checkpoints / request.param)


def loaded(leader, path, bits=0):
    name = f"{path}#{bits}" if bits else str(path)
    source = source_of(name)
    whole = load_network(source.folder, source.family, source.config, dtype="float32", kv=source.kv)
    return whole, leader.load(name, source)


def same(pair, play, close=CLOSE):
    """Play the same on both networks; all logits and tokens must agree."""
    expected, found = (play(network) for network in pair)
    assert len(found) == len(expected) > 0
    for ours, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, mx.array):
            assert_close(ours, theirs, close)
        else:
            assert ours == theirs


def test_logits_and_greedy_tokens_are_those_of_the_whole(pair):
    def play(network):
        rows = Row(network).joined(Row(network))
        logits = rows.read([LONG, SHORT])
        said, last = rows.greedy(logits, 8)
        return [*logits, said, *last]

    same(pair, play)


def test_rows_come_and_go(pair):
    def play(network):
        rows, late = Row(network), Row(network)
        seen = [*rows.read([LONG[:4]]), *rows.read([LONG[4:]])]  # chunk by chunk
        rows.joined(late, Row(network))
        seen += rows.read([[7], LATE, SHORT])
        rows.cache.keep([2, 1])
        return seen + rows.read([[9, 9], [10]])

    same(pair, play)


def test_rows_go_back(pair):
    def play(network):
        rows = Row(network).joined(Row(network))
        seen = rows.read([LONG, SHORT])
        seen += rows.read([[1, 2, 3], [4, 5, 6]], revocable=True)
        assert rows.cache.trim(0, 2)
        assert rows.cache.trim(1, 1)
        return seen + rows.read([[8], [9]])

    same(pair, play)


def test_rows_go_on_from_checkpoints(pair):
    def play(network):
        first, second = Row(network), Row(network)
        first.read([LONG])
        frozen = first.cache.freeze(0)
        seen = first.read([SHORT])
        second.cache = Row(network).cache.thaw(frozen)
        return [*seen, *second.read([SHORT]), *second.read([[1]])]

    same(pair, play)


def test_embeddings_take_the_place_of_tokens(pair):
    def play(network):
        row, tokens = Row(network), mx.array([SHORT], dtype=mx.int32)
        shown = network.model.embed(mx.array([LATE[:3]], dtype=mx.int32))
        spans = ((ImageSpan(start=1, count=2, grid=(1, 1, 2)),),)
        hidden = forward(network.model, row.cache, tokens, embeddings=shown, images=spans)
        return [network.model.logits(hidden)[0], *row.read([LONG])]

    same(pair, play)


@pytest.mark.parametrize("model", ["minicpm5", "qwen35-moe", "gemma4-26b-a4b"])
def test_each_rank_reads_the_bytes_of_its_part_and_no_others(leader, tiny_checkpoints, model):
    whole, _ = loaded(leader, tiny_checkpoints / model)
    said = leader.parts[str(tiny_checkpoints / model)]
    assert said.keys() == {0, 1}
    for part in said.values():
        read_bytes = 2 * part.read_bytes  # from 16 bits to 32, but for a few vectors that are stored in 32
        assert part.weight_bytes <= read_bytes <= 1.001 * part.weight_bytes
        assert (
            part.read_bytes < 0.55 * whole.weight_bytes / 2
        )  # norms, routers and shared heads are whole on both


@pytest.mark.parametrize("model", ["minicpm5-4bit-g32", "qwen35-moe", "gemma4-e2b-text", "gemma4-26b-a4b"])
def test_what_a_part_takes_is_known_before_it_is_loaded(leader, tiny_checkpoints, model):
    _, parts = loaded(leader, tiny_checkpoints / model)
    source = source_of(str(tiny_checkpoints / model))
    part = part_of(source.family, source.config, 0, 2)
    account = weigh(
        source.folder, source.family, source.config, this_machine(), dtype="float32", kv=source.kv, part=part
    )
    assert account.footprint.weights == parts.weight_bytes
    row = Row(parts)
    row.read([LONG])
    assert account.footprint.row(len(LONG)) == pytest.approx(row.cache.nbytes, rel=0.02)


def test_adapters_are_refused_by_name(leader, tiny_checkpoints):
    _, parts = loaded(leader, tiny_checkpoints / "minicpm5")
    with pytest.raises(BadAdapter, match="several ranks"):
        Mounts(parts.model).mount("key", None, None)  # it asks for modules before anything else


def test_quantized_keys_and_values_are_divided_too(leader, tiny_checkpoints):
    def play(network):
        assert "kv8" in network.policy.scheme
        rows = Row(network).joined(Row(network))
        return [*rows.read([LONG, SHORT]), *rows.read([[1], [2]])]

    one_step = 5e-3  # of 8 bits: what lies between two of them may be rounded either way
    same(loaded(leader, tiny_checkpoints / "qwen35-text", bits=8), play, close=one_step)


def test_a_part_that_cannot_be_loaded_is_refused_and_the_ranks_go_on(leader, tiny_checkpoints, tmp_path):
    path = tiny_checkpoints / "minicpm5"
    with pytest.raises(ModelFolderError, match=r"rank 1: .*nowhere"):
        leader.load(str(tmp_path / "nowhere"), source_of(str(path)))
    config = json.loads((path / "config.json").read_text()) | {
        "num_attention_heads": 3,
        "num_key_value_heads": 1,
    }
    odd = shutil.copytree(path, tmp_path / "odd")
    (odd / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModel, match="num_attention_heads 3 cannot be divided among 2 ranks"):
        leader.load(str(odd), source_of(str(odd)))
    same(loaded(leader, path), lambda network: Row(network).read([SHORT]))
