"""Adapters on a network: what they add is what merged weights compute, each row its own, and nothing stays behind."""

import mlx.core as mx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlx import nn
from mlx.utils import tree_flatten
from mlx_lm.tuner.lora import LoRALinear

from mlxp_core.adapters import open_adapter
from mlxp_core.adapters.lora import AdaptedLinear, Adapter, Choice, Company, Factors, Switch
from mlxp_core.adapters.mounts import KEPT, Mounts
from mlxp_core.errors import BadAdapter
from mlxp_core.testing.family import assert_close
from mlxp_core.testing.networks import Session, parameters

TEXT = [5, 9, 33, 2, 60, 17, 41, 8, 30]
TOLERANCE = 1e-5


def logits(network, rows, mounts=None, taken=()):
    """Return the logits of the last token of each row, read in one pass."""
    session = Session(network)
    for _ in rows[1:]:
        session.cache.join(Session(network).cache)
    if mounts is None:
        read = session.read(rows)
    else:
        with mounts.rows(taken):
            read = session.read(rows)
    return mx.stack([row[-1] for row in read])


def merged(weights, made, scale):
    """Return parameters with the terms in the weights, wherever mounting has put these."""
    weights = dict(weights)
    for module, (a, b) in made.items():
        path = module.removeprefix("model.")
        name = next(name for name in (f"{path}.linear.weight", f"{path}.weight") if name in weights)
        weights[name] = weights[name] + scale * (a @ b).T
    return weights


def with_weights(network, weights, work):
    """Return what ``work`` returns while the network has other weights."""
    before = parameters(network)
    network.load_weights(list(weights.items()))
    try:
        return work()
    finally:
        network.load_weights(list(before.items()))


@pytest.fixture
def mounts(network, family):
    return Mounts(network)


@pytest.fixture
def several(family, kit, mounts, tmp_path):
    """Mount a, b and c: everywhere, in attention alone, and with another rank; return their matrices."""
    made = {
        "a": kit.halves(kit.everywhere(), seed=1),
        "b": kit.halves(kit.everywhere(("q_proj", "v_proj")), seed=2, rank=3),
        "c": kit.halves(kit.everywhere(("down_proj", "q_proj"), layers=(1,)), seed=3, rank=8),
    }
    for key, terms in made.items():
        mounts.mount(key, open_adapter(kit.write_mlx(tmp_path / key, terms)), family)
    return made


# ── What is computed ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["mlx", "peft", "rslora", "optiq"])
def test_every_format_computes_what_merged_weights_compute(family, kit, network, mounts, tmp_path, how):
    made = kit.halves(kit.everywhere())
    expected = with_weights(network, merged(parameters(network), made, 2.0), lambda: logits(network, [TEXT]))
    match how:
        case "mlx":
            folder = kit.write_mlx(tmp_path / "a", made, scale=2.0)
        case "peft":
            folder = kit.write_peft(tmp_path / "a", made, alpha=8)
        case "rslora":
            folder = kit.write_peft(tmp_path / "a", made, alpha=4, use_rslora=True)
        case "optiq":
            folder = kit.write_mlx(tmp_path / "a", made, scale=9.0)
            (folder / "optiq_lora_config.json").write_text('{"lora_parameters": {"scale": 2.0}}')
    fitted = mounts.mount("a", open_adapter(folder), family)
    assert (fitted.modules, fitted.unused) == (14, ())
    assert fitted.size_bytes == sum(half.nbytes for ab in made.values() for half in ab)
    assert fitted.size_bytes == 4 * open_adapter(folder).numbers, "so it is known before anything is read"
    assert_close(logits(network, [TEXT], mounts, [("a",)]), expected, TOLERANCE)


def test_patterns_scale_each_module_by_its_own(family, kit, network, mounts, tmp_path):
    made = kit.halves(kit.everywhere(("q_proj", "up_proj")))
    folder = kit.write_peft(tmp_path / "a", made, alpha=8, alpha_pattern={"up_proj": 2})
    mounts.mount("a", open_adapter(folder), family)
    weights = merged(parameters(network), {name: ab for name, ab in made.items() if "q_proj" in name}, 2.0)
    weights = merged(weights, {name: ab for name, ab in made.items() if "up_proj" in name}, 0.5)
    expected = with_weights(network, weights, lambda: logits(network, [TEXT]))
    assert_close(logits(network, [TEXT], mounts, [("a",)]), expected, TOLERANCE)


def test_several_adapters_of_a_row_are_the_sum_of_their_terms(network, mounts, several):
    weights = merged(parameters(network), several["a"], 2.0)
    weights = merged(weights, several["b"], 2.0)
    expected = with_weights(network, weights, lambda: logits(network, [TEXT]))
    for order in (("a", "b"), ("b", "a")):
        assert_close(logits(network, [TEXT], mounts, [order]), expected, TOLERANCE)


def test_one_module_computes_what_mlx_lm_computes():
    x = mx.random.normal((2, 3, 32), key=mx.random.key(1))
    linear = nn.Linear(32, 24)
    theirs = LoRALinear.from_base(linear, r=4, scale=10.0)
    theirs.lora_b = mx.random.normal((4, 24), key=mx.random.key(2))
    switch = Switch()
    ours = AdaptedLinear(linear, "m", switch)
    company = Company([Adapter("k", {"m": Factors(theirs.lora_a, 10.0 * theirs.lora_b)})])
    switch.choice = Choice(company, [frozenset({0})] * 2)
    assert_close(ours(x), theirs(x), TOLERANCE)


@pytest.mark.parametrize("fixture", ["network", "quantized"])
def test_eight_rows_with_four_sets_each_say_what_they_say_alone(kit, family, tmp_path, fixture, request):
    network = request.getfixturevalue(fixture)
    mounts = Mounts(network)
    for seed, key in enumerate("ab"):
        mounts.mount(
            key, open_adapter(kit.write_mlx(tmp_path / key, kit.halves(kit.everywhere(), seed=seed))), family
        )
    sets = [(), ("a",), ("b",), ("a", "b")] * 2
    rows = [TEXT[row % 5 :] + TEXT[: row % 3] for row in range(8)]
    together = logits(network, rows, mounts, sets)
    for row, (tokens, taken) in enumerate(zip(rows, sets, strict=True)):
        alone = logits(network, [tokens], mounts, [taken])
        assert_close(together[row : row + 1], alone, TOLERANCE)
        if taken:
            assert not mx.allclose(alone, logits(network, [tokens]), atol=1e-2)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=5))
def test_any_sets_in_any_rows_are_each_rows_own(network, mounts, several, sets):
    taken = [tuple(sorted(keys)) for keys in sets]
    together = logits(network, [TEXT] * len(taken), mounts, taken)
    for row, keys in enumerate(taken):
        assert_close(together[row : row + 1], logits(network, [TEXT], mounts, [keys]), TOLERANCE)


def test_rows_without_adapters_keep_every_bit_whoever_their_neighbours_are(network, mounts, several):
    plain = logits(network, [TEXT] * 3)
    mixed = logits(network, [TEXT] * 3, mounts, [("a",), (), ("b", "c")])
    assert mx.array_equal(mixed[1], plain[1])
    assert not mx.allclose(mixed[0], plain[0], atol=1e-3)


def test_what_overflows_in_one_row_stays_there(family, kit, network, mounts, several, tmp_path):
    made = kit.halves(kit.everywhere(("q_proj",)))
    huge = {module: (a * 1e38, b * 1e38) for module, (a, b) in made.items()}
    mounts.mount("huge", open_adapter(kit.write_mlx(tmp_path / "huge", huge, scale=1e-30)), family)
    x = mx.ones((2, 1, 32)) * 100
    plain = network.layers[0].self_attn.q_proj(x)
    with mounts.rows([("huge",), ()]):
        y = network.layers[0].self_attn.q_proj(x)
    assert not mx.isfinite(y[0]).all()
    assert mx.array_equal(y[1], plain[1])


# ── What is left ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fixture", ["network", "quantized"])
def test_mounted_and_not_taken_changes_no_bit(kit, family, tmp_path, fixture, request):
    network = request.getfixturevalue(fixture)
    before = logits(network, [TEXT])
    mounts = Mounts(network)
    mounts.mount("a", open_adapter(kit.write_mlx(tmp_path / "a", kit.halves(kit.everywhere()))), family)
    assert mx.array_equal(logits(network, [TEXT]), before)
    assert mx.array_equal(logits(network, [TEXT], mounts, [()]), before)


def test_scale_zero_changes_no_bit(family, kit, network, mounts, tmp_path):
    before = logits(network, [TEXT])
    fitted = mounts.mount(
        "z", open_adapter(kit.write_mlx(tmp_path / "z", kit.halves(kit.everywhere()), scale=0)), family
    )
    assert fitted.modules == 14
    assert mx.array_equal(logits(network, [TEXT], mounts, [("z",)]), before)


def test_a_then_b_then_a_leaves_no_trace(network, mounts, several):
    first = logits(network, [TEXT], mounts, [("a",)])
    logits(network, [TEXT], mounts, [("b",)])
    assert mx.array_equal(logits(network, [TEXT], mounts, [("a",)]), first)
    assert mx.array_equal(logits(network, [TEXT]), logits(network, [TEXT], mounts, [()]))


def test_a_pass_that_fails_leaves_nothing_switched_on(network, mounts, several):
    before = logits(network, [TEXT])
    with pytest.raises(ZeroDivisionError), mounts.rows([("a",)]):
        raise ZeroDivisionError
    assert mx.array_equal(logits(network, [TEXT]), before)


def test_when_all_are_gone_the_network_is_the_one_that_was_loaded(kit, network, family, tmp_path):
    modules = dict(network.named_modules())
    mounts = Mounts(network)
    for seed, key in enumerate("ab"):
        mounts.mount(
            key, open_adapter(kit.write_mlx(tmp_path / key, kit.halves(kit.everywhere(), seed=seed))), family
        )
    mounts.unmount("a")
    kept = logits(network, [TEXT], mounts, [("b",)])
    assert isinstance(network.layers[0].self_attn.q_proj, AdaptedLinear)
    mounts.unmount("b")
    after = dict(network.named_modules())
    assert after.keys() == modules.keys()
    assert all(after[path] is module for path, module in modules.items())
    mounts.mount("b", open_adapter(tmp_path / "b"), family)
    assert mx.array_equal(logits(network, [TEXT], mounts, [("b",)]), kept)


def test_another_mount_of_one_key_is_not_taken_for_the_first(family, kit, network, mounts, tmp_path):
    for seed in (1, 2):
        made = kit.halves(kit.everywhere(), seed=seed)
        expected = with_weights(
            network, merged(parameters(network), made, 2.0), lambda: logits(network, [TEXT])
        )
        mounts.mount("x", open_adapter(kit.write_mlx(tmp_path / str(seed), made)), family)
        assert_close(logits(network, [TEXT], mounts, [("x",)]), expected, TOLERANCE)
        mounts.unmount("x")


def test_what_is_joined_for_passes_gone_by_is_let_go_of(network, mounts, several):
    for width in range(1, 3 * KEPT):
        logits(network, [TEXT] * 2, mounts, [("a",), ("b",) * (width % 2)])
        with mounts.rows([("a",)] * width):
            pass
    assert len(mounts._choices) <= KEPT
    assert len(mounts._companies) <= KEPT


# ── What does not fit ───────────────────────────────────────────────────────────────────────────────────────────────


def state(network):
    return [(name, type(module)) for name, module in network.named_modules()], dict(
        tree_flatten(network.parameters())
    )


@pytest.mark.parametrize(
    ("module", "shapes", "told"),
    [
        (
            "model.layers.1.mlp.up_proj",
            ((32, 4), (4, 64)),
            r"up_proj: A \[32, 4\] and B \[4, 64\] go from 32 to 64 numbers, and the module goes from 32 to 96",
        ),
        ("model.layers.1.mlp.up_proj", ((16, 4), (4, 96)), "goes from 32 to 96"),
        ("model.layers.7.mlp.up_proj", ((32, 4), (4, 96)), "is no module of the text network of small"),
        ("model.layers.0.mlp.qkv_proj", ((32, 4), (4, 96)), "is no module of the text network of small"),
        ("vision.layers.0.q_proj", ((32, 4), (4, 64)), "or for its eyes"),
        ("model.experts.gate_proj", ((32, 4), (4, 96)), "gate_proj is a stack of experts"),
        ("model.router", ((32, 4), (4, 2)), "router takes no adapters; in small these do: q_proj"),
        ("model.embed_tokens", ((384, 4), (4, 32)), "embed_tokens takes no adapters"),
    ],
)
def test_a_term_that_fits_nowhere_is_refused_and_nothing_is_changed(
    family, kit, network, tmp_path, *, module, shapes, told
):
    mounts = Mounts(network)
    made = {**kit.halves(kit.everywhere()), module: tuple(mx.ones(shape) for shape in shapes)}
    folder = open_adapter(kit.write_mlx(tmp_path / "a", made))
    before = state(network)
    with pytest.raises(BadAdapter, match=told):
        mounts.mount("a", folder, family)
    names, values = state(network)
    assert names == before[0]
    assert all(values[name] is value for name, value in before[1].items())


def test_names_may_have_the_wrapper_or_lack_it(family, kit, network, mounts, tmp_path):
    made = kit.halves(kit.everywhere(("q_proj",)))
    wrapped = {f"language_model.{module}": ab for module, ab in made.items()}
    mounts.mount("a", open_adapter(kit.write_mlx(tmp_path / "a", made)), family)
    mounts.mount("b", open_adapter(kit.write_mlx(tmp_path / "b", wrapped)), family)
    assert mx.array_equal(
        logits(network, [TEXT], mounts, [("a",)]), logits(network, [TEXT], mounts, [("b",)])
    )


def test_a_layer_that_the_network_does_without_is_passed_over_and_told(
    family, kit, network, mounts, tmp_path
):
    del network.layers[1].self_attn["k_proj"]
    fitted = mounts.mount(
        "a", open_adapter(kit.write_mlx(tmp_path / "a", kit.halves(kit.everywhere()))), family
    )
    assert (fitted.modules, fitted.unused) == (13, ("model.layers.1.self_attn.k_proj",))
    mounts.unmount("a")
    alone = kit.write_mlx(tmp_path / "b", kit.halves(["model.layers.1.self_attn.k_proj"]))
    with pytest.raises(BadAdapter, match="none of its 1 modules is one of the network"):
        mounts.mount("b", open_adapter(alone), family)


def test_two_terms_of_one_module_are_refused(family, kit, mounts, tmp_path):
    made = kit.halves(["model.layers.0.mlp.up_proj", "layers.0.mlp.up_proj"])
    with pytest.raises(BadAdapter, match=r"are both layers\.0\.mlp\.up_proj"):
        mounts.mount("a", open_adapter(kit.write_mlx(tmp_path / "a", made)), family)


def test_numbers_that_are_none_are_refused(family, kit, network, mounts, tmp_path):
    made = kit.halves(kit.everywhere(("q_proj",)))
    made["model.layers.0.self_attn.q_proj"][0][0, 0] = mx.nan
    with pytest.raises(BadAdapter, match="infinite or none"):
        mounts.mount("a", open_adapter(kit.write_mlx(tmp_path / "a", made)), family)
    assert not isinstance(network.layers[0].self_attn.q_proj, AdaptedLinear)
