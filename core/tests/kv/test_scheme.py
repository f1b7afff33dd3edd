import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import ModelFolderError, SetupError
from mlxp_core.kv import BatchCache, PlainPolicy, QuantizedPolicy, forward, policy_for
from mlxp_core.kv.scheme import choose
from mlxp_core.kv.survey import AttentionLayer, survey
from mlxp_core.types import KVScheme, KVStorage

EIGHT, FOUR = KVStorage(8, 64), KVStorage(4, 64)


class Mixed:
    """A network without weights: state, full, a ring, and a full layer that nobody calls; heads of 64 and 32."""

    def __init__(self, dims=(64, 32)):
        self.dims = dims
        self.computed = 0

    def make_caches(self, policy):
        state = policy.state(0, [(4,)], [mx.float32])
        return [state, policy.full(1), policy.sliding(2, 8), policy.full(3)]

    def __call__(self, inputs, caches):
        rows, width = inputs.tokens.shape
        out = mx.zeros((rows, width, 4))
        for cache, dim in zip(caches[1:], self.dims, strict=False):
            new = mx.random.normal((rows, 2, width, dim), key=mx.random.key(width))
            out = out + cache.attend(new, new, new, inputs.at, scale=1.0)[:, 0, :, :4]
        return out


def layers(*heads):
    return [AttentionLayer(number, None, (size, size)) for number, size in enumerate(heads)]


def test_a_survey_finds_kinds_numbers_and_sizes():
    assert survey(Mixed(), heads=True) == (
        AttentionLayer(1, None, (64, 64)),
        AttentionLayer(2, 8, (32, 32)),
        AttentionLayer(3, None),
    )
    assert survey(Mixed(), heads=False) == tuple(
        AttentionLayer(number, window) for number, window in [(1, None), (2, 8), (3, None)]
    )


def test_a_survey_computes_nothing():
    class Dear(Mixed):
        def __call__(self, inputs, caches):
            vast = mx.zeros((2**20, 2**20, 2**10))  # would never fit
            return super().__call__(inputs, caches) + vast.sum()

    assert len(survey(Dear(), heads=True)) == 3


def test_off_is_the_plain_policy():
    policy, in_force = policy_for(Mixed(), KVScheme(), mx.bfloat16)
    assert isinstance(policy, PlainPolicy)
    assert (in_force.mode, in_force.scheme, in_force.layers) == ("off", "bfloat16", {"bfloat16": 3})
    assert (in_force.full, in_force.sliding) == (2, 1)


def test_a_scheme_for_all_takes_rings_too_and_groups_that_fit():
    policy, in_force = policy_for(Mixed(), KVScheme(mode="8", uniform=EIGHT), mx.float32)
    assert in_force.scheme == policy.scheme == "float32; kv8-g64: 1; kv8-g32: 2"
    assert in_force.layers == {"kv8-g64": 1, "kv8-g32": 1, "float32": 1}
    network = Mixed()
    cache = BatchCache(network.make_caches(policy))
    forward(network, cache, mx.zeros((1, 20), dtype=mx.int32))
    planes = [layer.held.planes for layer in cache.layers[1:3]]
    assert [[plane.shape[-1] for plane in layer[:3]] for layer in planes] == [[16, 1, 1], [8, 1, 1]]


def test_layers_of_their_own_are_taken_exactly_and_state_is_passed_over():
    scheme = KVScheme(mode="config", layers={0: FOUR, 1: KVStorage(4, 32), 2: KVStorage(8, 32)})
    policy, in_force = policy_for(Mixed(), scheme, mx.float32)
    assert in_force.scheme == "float32; kv4-g32: 1; kv8-g32: 2"
    assert isinstance(policy, QuantizedPolicy)


@given(sizes=st.lists(st.sampled_from([32, 64, 96, 128, 256]), max_size=12), ends=st.integers(0, 8))
def test_ends_are_kept_as_they_are_and_every_group_divides_its_heads(sizes, ends):
    chosen = choose(KVScheme(uniform=FOUR, ends=ends), layers(*sizes))
    assert list(chosen) == list(range(ends, max(ends, len(sizes) - ends)))
    for number, storage in chosen.items():
        assert storage == KVStorage(4, 64 if sizes[number] % 64 == 0 else 32)


def test_heads_that_no_group_divides_are_refused_by_name():
    with pytest.raises(SetupError, match=r"layer 1 has heads of 80.* set kv_quant to off"):
        choose(KVScheme(uniform=EIGHT), layers(64, 80))
    with pytest.raises(ModelFolderError, match=r"kv_config.json: layer 0 has heads of 96.*groups of 64"):
        choose(KVScheme(layers={0: FOUR}), layers(96))
    with pytest.raises(SetupError, match="layer 2 has heads of 48"):
        policy_for(Mixed((64, 48)), KVScheme(uniform=EIGHT), mx.float32)


def test_a_list_for_another_network_is_refused():
    with pytest.raises(ModelFolderError, match="lists layer 7, but the network's last layer with keys is 1"):
        choose(KVScheme(layers={0: FOUR, 7: FOUR}), layers(64, 64))


def test_schemes_tell_layers_apart():
    lines = [
        QuantizedPolicy(mx.float32, storages, direct=1).scheme
        for storages in (
            {0: EIGHT, 1: FOUR},
            {0: FOUR, 1: EIGHT},
            {0: EIGHT},
            {1: EIGHT},
            {0: KVStorage(8, 32), 1: FOUR},
            {0: EIGHT, 1: EIGHT, 2: EIGHT, 5: EIGHT},
        )
    ]
    assert len(set(lines)) == len(lines)
    assert lines[-1] == "float32; kv8-g64: 0-2 5"
    assert QuantizedPolicy(mx.float16, {0: EIGHT}).scheme == "float16; kv8-g64: 0"


def no_kernel(*_, **__):
    raise RuntimeError("no kernel for it")


def test_a_device_that_cannot_quantize_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(mx, "quantize", no_kernel)
    with pytest.raises(SetupError, match=r"no kernel for it.*set kv_quant to off"):
        policy_for(Mixed(), KVScheme(uniform=EIGHT), mx.float32)


def test_a_device_without_packed_products_unpacks(monkeypatch):
    def answer():
        cache = BatchCache([QuantizedPolicy(mx.float32, {0: EIGHT}).full(0)])
        at = cache.begin([5], 5)
        new = mx.random.normal((1, 2, 5, 64), key=mx.random.key(0))
        return cache.layers[0].attend(new[:, :, :1], new, new, at, scale=0.1)

    expected = answer()
    monkeypatch.setattr(mx, "quantized_matmul", no_kernel)
    assert mx.abs(answer() - expected).max() < 1e-5
