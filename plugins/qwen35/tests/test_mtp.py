"""The draft head: its numbers, its chunks and rows, and that it is there only where the files hold one."""

import json

import mlx.core as mx
import pytest

from mlxp_core.contracts import Inputs
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.draft import load_draft
from mlxp_core.loading.network import load_network
from mlxp_core.testing.networks import load, random_parameters
from mlxp_qwen35 import plugin
from mlxp_qwen35.config import read
from mlxp_qwen35.mtp import Predictor


def rows(model, count=1):
    """Return empty rows of a network or a draft head."""
    cache = BatchCache(model.make_caches(PlainPolicy(mx.float32)))
    for _ in range(count - 1):
        cache.join(BatchCache(model.make_caches(PlainPolicy(mx.float32))))
    return cache


def guess(head, model, cache, tokens, hidden, counts=None):
    """Return the head's hidden states for ``tokens``, which follow those of ``hidden``; ``cache`` goes on."""
    at = cache.begin(counts or [tokens.shape[1]] * cache.rows, tokens.shape[1])
    out = head(Inputs(tokens=tokens, at=at, embeddings=model.embed(tokens)), hidden, cache.layers)
    cache.commit(at)
    return out


@pytest.fixture(params=["dense", "experts"])
def pair(request, network):
    """A network and a head for it."""
    keys = {**request.getfixturevalue(request.param), "mtp_num_hidden_layers": 1}
    head = Predictor(read(keys))
    load(head, random_parameters(head, 5))
    return network(keys), head


@pytest.fixture
def seen(pair):
    """What a network has read: 30 tokens, and its hidden states."""
    model, _ = pair
    tokens = mx.random.randint(0, 211, (1, 30), key=mx.random.key(2))
    return tokens, forward(model, rows(model), tokens)


def test_in_chunks_is_at_once(pair, seen):
    (model, head), (tokens, hidden) = pair, seen
    whole = guess(head, model, rows(head), tokens[:, 1:], hidden[:, :-1])
    cache, parts = rows(head), []
    for begin, end in ((0, 7), (7, 8), (8, 29)):
        parts.append(guess(head, model, cache, tokens[:, 1 + begin : 1 + end], hidden[:, begin:end]))
    assert mx.allclose(mx.concatenate(parts, axis=1), whole, atol=1e-4)


def test_ragged_rows_are_rows_alone(pair, seen):
    (model, head), (tokens, hidden) = pair, seen
    alone = guess(head, model, rows(head), tokens[:, 1:6], hidden[:, :5])
    both = [mx.concatenate([part[:, :9], part[:, 15:24]]) for part in (tokens[:, 1:], hidden)]
    cache = rows(head, 2)
    out = guess(head, model, cache, *both, counts=[5, 9])
    assert mx.allclose(out[0, :5], alone[0], atol=1e-4)
    assert cache.lengths == [5, 9]


def test_it_guesses_on_from_its_own_states(pair, seen):
    (model, head), (tokens, hidden) = pair, seen
    cache = rows(head)
    state = guess(head, model, cache, tokens[:, 1:], hidden[:, :-1])[:, -1:]
    for _ in range(3):
        token = mx.argmax(model.logits(state), axis=-1)
        state = guess(head, model, cache, token, state)
        assert mx.isfinite(state).all()
    assert cache.lengths == [32]


def test_without_embeddings_it_says_what_to_do(pair, seen):
    (_, head), (tokens, hidden) = pair, seen
    cache = rows(head)
    with pytest.raises(ValueError, match="embeddings of the network"):
        head(Inputs(tokens=tokens, at=cache.begin([30], 30)), hidden, cache.layers)


@pytest.fixture(scope="module")
def oracle(shared):
    return json.loads((shared / "tools" / "checkpoints" / "tiny_oracle.json").read_text())


def loaded(path):
    folder, families = open_folder(path), {family.name: family for family in plugin.mlxp_model_families()}
    family, config = choose_family(folder, families)
    model = load_network(folder, family, config, dtype="float32").model
    return model, load_draft(folder, family, config, dtype="float32")


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("variant", ["qwen35", "qwen35-moe"])
def test_tiny_checkpoints_give_the_numbers_of_mlx_vlm(tiny_checkpoints, oracle, variant, length):
    expected = oracle[variant]["mtp_mlx_vlm_float32"][length]
    model, head = loaded(tiny_checkpoints / variant)
    tokens = mx.array([oracle[variant]["mlx_lm"]["float32"][length]["prompt"]])
    hidden = forward(model, rows(model), tokens)
    logits = model.logits(guess(head, model, rows(head), tokens[:, 1:], hidden[:, :-1]))[0]
    assert mx.argmax(logits, axis=-1).tolist() == expected["argmax_per_position"]
    for token, logit in expected["final"]["top5"]:
        assert logits[-1, token].item() == pytest.approx(logit, abs=1e-4)


def test_only_files_that_hold_one_have_a_head(tiny_checkpoints):
    assert loaded(tiny_checkpoints / "qwen35-text")[1] is not None
    assert loaded(tiny_checkpoints / "qwen35-4bit-g64")[1] is None
