"""What an adapter's files say, and what in them is refused."""

import math

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.adapters import holds_adapter, open_adapter
from mlxp_core.adapters.recipe import Recipe
from mlxp_core.errors import BadAdapter

Q = "model.layers.0.self_attn.q_proj"
K = "model.layers.0.self_attn.k_proj"


@pytest.fixture
def made(kit):
    return kit.halves([Q, K])


def test_mlx_says_its_scale(kit, made, tmp_path):
    folder = open_adapter(kit.write_mlx(tmp_path / "a", made, scale=10.0, model="Org/Small-4bit"))
    assert (folder.rank, folder.scale, folder.base_model) == (4, 10.0, "Org/Small-4bit")
    assert [(term.module, term.rank, term.scale, term.turned) for term in folder.terms] == [
        (K, 4, 10.0, False),
        (Q, 4, 10.0, False),
    ]


def test_mlx_means_twenty_where_it_says_nothing(kit, made, tmp_path):
    assert open_adapter(kit.write_mlx(tmp_path / "a", made, lora_parameters={"rank": 4})).scale == 20.0


def test_optiq_comes_first(kit, made, tmp_path):
    folder = kit.write_mlx(tmp_path / "a", made, scale=2.0)
    tensors = {
        f"{module}.lora_{half}": value
        for module, ab in made.items()
        for half, value in zip("ab", ab, strict=True)
    }
    own = {"rank": 4, "scale": 7.0, "source_model": "o/m", "lora_parameters": {"scale": 7.0, "rank": 4}}
    kit.write(folder, tensors, own, name="optiq_lora_config.json")
    assert (open_adapter(folder).scale, open_adapter(folder).base_model) == (7.0, "o/m")


def test_peft_lies_turned_and_divides_by_the_rank(kit, made, tmp_path):
    folder = open_adapter(kit.write_peft(tmp_path / "a", made, alpha=6))
    assert [(term.module, term.rank, term.scale, term.turned) for term in folder.terms] == [
        (K, 4, 1.5, True),
        (Q, 4, 1.5, True),
    ]
    assert folder.base_model == "org/small"


def test_rslora_divides_by_the_root(kit, made, tmp_path):
    folder = open_adapter(kit.write_peft(tmp_path / "a", made, alpha=6, use_rslora=True))
    assert {term.scale for term in folder.terms} == {3.0}


def test_patterns_hold_for_the_ends_of_paths(kit, tmp_path):
    made = {**kit.halves([Q], rank=2), **kit.halves([K], rank=4)}
    folder = open_adapter(
        kit.write_peft(
            tmp_path / "a",
            made,
            alpha=8,
            r=4,
            rank_pattern={"q_proj": 2, "roj": 9},
            alpha_pattern={r"layers\.0\.self_attn\.k_proj": 12},
        )
    )
    assert {term.module: term.scale for term in folder.terms} == {Q: 4.0, K: 3.0}
    assert (folder.rank, folder.scale) == (4, 2.0)


@given(st.integers(1, 64), st.floats(0.01, 100), st.booleans())
def test_a_scale_is_alpha_by_rank_or_its_root(rank, alpha, rooted):
    scale = Recipe(alpha=alpha, rooted=rooted).scale_of("m", rank)
    assert scale * (math.sqrt(rank) if rooted else rank) == pytest.approx(alpha)


def test_a_rank_that_contradicts_the_matrices_is_refused(kit, made, tmp_path):
    with pytest.raises(BadAdapter, match=r"k_proj has matrices of rank 4, and its configuration says 8"):
        open_adapter(kit.write_peft(tmp_path / "a", made, r=8))


def test_shapes_tell_which_way_matrices_lie_whatever_their_spelling(kit, made, tmp_path):
    turned = {f"{Q}.lora_a": made[Q][0].T, f"{Q}.lora_b": made[Q][1].T}
    assert open_adapter(kit.write(tmp_path / "a", turned, {"lora_parameters": {}})).terms[0].turned
    straight = {f"{Q}.lora_A": made[Q][0], f"{Q}.lora_B": made[Q][1]}
    (term,) = open_adapter(kit.write(tmp_path / "b", straight, {"lora_alpha": 4, "r": 4})).terms
    assert (term.turned, term.scale, term.rank) == (False, 1.0, 4)


def test_of_two_ways_the_lower_rank_is_meant(kit, tmp_path):
    a, b = mx.zeros((32, 4)), mx.zeros((4, 32))
    for spelling, tensors in enumerate(
        ({"m.lora_A.weight": a.T, "m.lora_B.weight": b.T}, {"m.lora_a": a, "m.lora_b": b})
    ):
        (term,) = open_adapter(kit.write(tmp_path / str(spelling), tensors, {"lora_parameters": {}})).terms
        assert (term.rank, term.turned) == (4, spelling == 0)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"use_dora": True}, "use_dora.*DoRA"),
        ({"bias": "lora_only"}, "bias is 'lora_only'"),
        ({"lora_bias": True}, "lora_bias"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out"),
        ({"peft_type": "IA3"}, "of the kind 'IA3'"),
        ({"init_lora_weights": "pissa_niter_4"}, "pissa_niter_4.*changed weights"),
        ({"target_parameters": ["experts.down_proj"]}, "target_parameters.*experts"),
        ({"trainable_token_indices": [1]}, "trainable_token_indices"),
        ({"r": 0}, "r must be a whole number from 1 on, not 0"),
        ({"r": True}, "r must be"),
        ({"lora_alpha": "much"}, "lora_alpha must be a number, not 'much'"),
        ({"rank_pattern": {"(": 3}}, "rank_pattern.*regular expression"),
        ({"alpha_pattern": [1]}, "alpha_pattern must be an object"),
    ],
)
def test_what_is_more_than_low_rank_terms_is_refused_by_name(kit, made, tmp_path, more, told):
    with pytest.raises(BadAdapter, match=told) as refused:
        open_adapter(kit.write_peft(tmp_path / "a", made, **more))
    assert "a/adapter_config.json" in refused.value.message


@pytest.mark.parametrize("kind", ["dora", "full"])
def test_other_kinds_of_mlx_training_are_refused_by_name(kit, made, tmp_path, kind):
    with pytest.raises(BadAdapter, match=f"of the kind '{kind}'"):
        open_adapter(kit.write_mlx(tmp_path / "a", made, fine_tune_type=kind))


@pytest.mark.parametrize(
    ("name", "shape", "told"),
    [
        (f"{Q}.lora_magnitude_vector", (4,), "a DoRA magnitude"),
        (f"{Q}.m", (4,), "a DoRA magnitude"),
        (f"{Q}.bias", (4,), "a bias"),
        ("base_model.model.lm_head.weight", (4, 4), "part of a whole module"),
        ("model.embed_tokens.lora_embedding_A", (4, 4), "a term for an embedding"),
        ("model.experts.gate_proj.lora_a", (2, 4, 4), "no B half"),
    ],
)
def test_other_tensors_are_refused_by_name(kit, made, tmp_path, name, shape, told):
    tensors = {f"{Q}.lora_a": made[Q][0], f"{Q}.lora_b": made[Q][1], name: mx.zeros(shape)}
    with pytest.raises(BadAdapter, match=told):
        open_adapter(kit.write(tmp_path / "a", tensors, {"lora_parameters": {}}))


def test_matrices_for_each_expert_are_refused(kit, tmp_path):
    tensors = {
        "m.switch_mlp.up_proj.lora_a": mx.zeros((2, 4, 8)),
        "m.switch_mlp.up_proj.lora_b": mx.zeros((2, 8, 4)),
    }
    with pytest.raises(BadAdapter, match="one matrix for each expert"):
        open_adapter(kit.write(tmp_path / "a", tensors, {"lora_parameters": {}}))


def test_halves_without_a_common_rank_are_refused_with_both_shapes(kit, tmp_path):
    tensors = {f"{Q}.lora_a": mx.zeros((32, 4)), f"{Q}.lora_b": mx.zeros((5, 64))}
    with pytest.raises(BadAdapter, match=r"q_proj: A is \[32, 4\] and B is \[5, 64\]"):
        open_adapter(kit.write(tmp_path / "a", tensors, {"lora_parameters": {}}))


def test_two_tensors_for_one_half_are_refused(kit, tmp_path):
    tensors = {f"{Q}.lora_a": mx.zeros((32, 4)), f"{Q}.lora_A.weight": mx.zeros((4, 32))}
    with pytest.raises(BadAdapter, match="both the A half"):
        open_adapter(kit.write(tmp_path / "a", tensors, {"lora_parameters": {}}))


def test_incomplete_folders_say_what_is_missing(kit, made, tmp_path):
    with pytest.raises(BadAdapter, match="adapter folder not found"):
        open_adapter(tmp_path / "nowhere")
    folder = kit.write_mlx(tmp_path / "a", made)
    (folder / "adapter_config.json").rename(folder / "aside")
    with pytest.raises(BadAdapter, match=r"no adapter_config\.json"):
        open_adapter(folder)
    (folder / "aside").rename(folder / "adapter_config.json")
    weights = folder / "adapters.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-8])
    with pytest.raises(BadAdapter, match="cut off"):
        open_adapter(folder)
    assert holds_adapter(folder)
    weights.unlink()
    assert not holds_adapter(folder)
    with pytest.raises(BadAdapter, match="no adapter weights"):
        open_adapter(folder)
    mx.save_safetensors(str(weights), {})
    with pytest.raises(BadAdapter, match="hold no low-rank terms"):
        open_adapter(folder)
