"""Both networks against their definitions, written out for patches in any order."""

import math

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx.utils import tree_flatten, tree_map

from mlxp_core.testing.networks import load, random_parameters
from mlxp_gemma4 import plugin
from mlxp_gemma4.eyes.config import EmbedderConfig, TowerConfig, read
from mlxp_gemma4.eyes.embedder import centred
from mlxp_gemma4.eyes.patches import patches_of
from mlxp_gemma4.eyes.tower import Projection, turned

GRIDS = [(1, 1, 1), (1, 3, 4), (1, 6, 2), (1, 1, 12)]


def image_of(grid, side, seed=0):
    _, rows, columns = grid
    shape = (rows * side, columns * side, 3)
    return mx.random.randint(0, 256, shape, key=mx.random.key(seed)).astype(mx.uint8)


def network_of(config):
    """Return a network with random parameters, and these by name; bounds are near, so that they are felt."""
    (tower,) = plugin.mlxp_vision_towers()
    network = tower.build(config)
    weights = random_parameters(network, 11)
    for name in weights:
        if name.endswith(("_min", "_max")):
            weights[name] = mx.array(-0.9 if name.endswith("_min") else 1.1)
    load(network, weights)
    return network, weights


def rms(x, eps=1e-6):
    return x * mx.rsqrt(mx.mean(x * x, axis=-1, keepdims=True) + eps)


def layer_norm(x, weight, bias):
    centred = x - mx.mean(x, axis=-1, keepdims=True)
    return centred * mx.rsqrt(mx.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * weight + bias


def gelu(x):
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def rotated(x, places, theta):
    """Rotate ``[patches, heads, dim]`` by one number for each patch."""
    half = x.shape[-1] // 2
    angles = places[:, None, None] * theta ** (-mx.arange(half) / half)
    left, right = x[..., :half], x[..., half:]
    cos, sin = mx.cos(angles), mx.sin(angles)
    return mx.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


class PlainTower:
    """The tower for a list of patches that say where they are."""

    def __init__(self, config, weights):
        self.config, self.weights = config, weights

    def __call__(self, patches, across, down):
        table = self.weights["position_embedding_table"]
        x = (2 * patches - 1) @ self.weights["input_proj.weight"].T + table[0][across] + table[1][down]
        for number in range(self.config.layers):
            name = f"layers.{number}."
            attended = self.attended(self.normed(x, f"{name}input_layernorm"), name, across, down)
            x = x + self.normed(attended, f"{name}post_attention_layernorm")
            fed = self.fed_forward(self.normed(x, f"{name}pre_feedforward_layernorm"), name)
            x = x + self.normed(fed, f"{name}post_feedforward_layernorm")
        return self.seen(x, across // 3, down // 3)

    def normed(self, x, name):
        return rms(x) * self.weights[f"{name}.weight"]

    def projected(self, x, name):
        if not self.config.clipped:
            return x @ self.weights[f"{name}.linear.weight"].T
        x = mx.clip(x, self.weights[f"{name}.input_min"], self.weights[f"{name}.input_max"])
        out = x @ self.weights[f"{name}.linear.weight"].T
        return mx.clip(out, self.weights[f"{name}.output_min"], self.weights[f"{name}.output_max"])

    def attended(self, x, name, across, down):
        heads = (len(x), self.config.heads, self.config.head_dim)
        q, k, v = (self.projected(x, f"{name}self_attn.{kind}_proj").reshape(heads) for kind in "qkv")
        q, k = (
            self.turned(self.normed(part, f"{name}self_attn.{kind}_norm"), across, down)
            for kind, part in (("q", q), ("k", k))
        )
        scores = mx.softmax(mx.einsum("ihd,jhd->hij", q, k), axis=-1)
        out = mx.einsum("hij,jhd->ihd", scores, rms(v))
        return self.projected(out.reshape(len(x), -1), f"{name}self_attn.o_proj")

    def turned(self, x, across, down):
        half = x.shape[-1] // 2
        parts = ((x[..., :half], across), (x[..., half:], down))
        return mx.concatenate([rotated(part, places, self.config.theta) for part, places in parts], axis=-1)

    def fed_forward(self, x, name):
        gate, up = (self.projected(x, f"{name}mlp.{kind}_proj") for kind in ("gate", "up"))
        return self.projected(gelu(gate) * up, f"{name}mlp.down_proj")

    def seen(self, x, across, down):
        columns, rows = across.max().item() + 1, down.max().item() + 1
        slots = mx.arange(rows * columns)[:, None] == (across + columns * down)
        pooled = (slots.astype(mx.float32) / 9) @ x * math.sqrt(self.config.hidden)
        if self.config.standardized:
            pooled = (pooled - self.weights["std_bias"]) * self.weights["std_scale"]
        return rms(pooled) @ self.weights["embedding_projection.weight"].T


def plain_embedder(weights, patches, across, down):
    def normed(x, name):
        return layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    x = normed(patches, "patch_ln1") @ weights["patch_dense.weight"].T + weights["patch_dense.bias"]
    table = weights["pos_embedding"]
    x = normed(normed(x, "patch_ln2") + table[across, 0] + table[down, 1], "pos_norm")
    return rms(x) @ weights["embedding_projection.weight"].T


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_features_are_what_the_definition_says_of_patches_in_any_order(seeing, grid):
    config = read(seeing)
    network, weights = network_of(config)
    pixels = image_of(grid, config.cut.side)
    match config:
        case TowerConfig():
            patches, columns = patches_of(pixels, config.patch), grid[2] * config.pool
            order = mx.random.permutation(len(patches), key=mx.random.key(3))
            expected = PlainTower(config, weights)(patches[order], order % columns, order // columns)
        case EmbedderConfig():
            places = mx.arange(grid[1] * grid[2])
            patches = patches_of(pixels, config.cut.side)
            expected = plain_embedder(weights, patches, places % grid[2], places // grid[2])
    features = network(pixels, grid)
    assert features.shape == (grid[1] * grid[2], config.language)
    assert mx.allclose(features, expected, atol=1e-4)


def test_an_image_is_not_its_mirror_image(seeing):
    config = read(seeing)
    network, _ = network_of(config)
    pixels = image_of((1, 2, 3), config.cut.side)
    features, mirrored = network(pixels, (1, 2, 3)), network(pixels[:, ::-1], (1, 2, 3))
    assert not mx.allclose(features, mirrored, atol=0.05)
    assert not mx.allclose(features.reshape(2, 3, -1)[:, ::-1], mirrored.reshape(2, 3, -1), atol=0.05)


def test_features_have_the_type_of_the_weights(seeing):
    config = read(seeing)
    network, _ = network_of(config)
    pixels = image_of((1, 2, 2), config.cut.side)
    exact = network(pixels, (1, 2, 2))
    network.update(tree_map(lambda value: value.astype(mx.bfloat16), network.parameters()))
    rounded = network(pixels, (1, 2, 2))
    assert rounded.dtype == mx.bfloat16
    assert mx.allclose(rounded.astype(mx.float32), exact, atol=0.3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
def test_scores_depend_on_where_patches_are_from_each_other(row, column, other_row, other_column):
    grid, theta = (6, 8), 100.0
    q, k = mx.random.normal((2, 12), key=mx.random.key(1))

    def everywhere(vector):
        return turned(mx.broadcast_to(vector, (1, 1, 48, 12)), grid, theta)[0, 0].reshape(*grid, 12)

    queries, keys = everywhere(q), everywhere(k)

    def score(down, across):
        return (
            (queries[row + down, column + across] * keys[other_row + down, other_column + across])
            .sum()
            .item()
        )

    assert score(3, 4) == pytest.approx(score(0, 0), abs=1e-4)
    if (row, column) != (other_row, other_column):
        assert score(0, 0) != pytest.approx((q * k).sum().item(), abs=1e-6)


def test_bounds_are_the_identity_until_they_are_set():
    clipped, free = Projection(4, 3, clipped=True), Projection(4, 3, clipped=False)
    free.linear = clipped.linear
    x = mx.random.normal((5, 4), key=mx.random.key(0)) * 1000
    assert mx.array_equal(clipped(x), free(x))
    assert {name for name, _ in tree_flatten(clipped.parameters())} == {
        "linear.weight",
        "input_min",
        "input_max",
        "output_min",
        "output_max",
    }


def test_sums_over_large_patches_lose_nothing():
    pixels = image_of((1, 1, 2), 48) // 8 + 200  # bright, and little in it
    patches = patches_of(pixels, 48)
    exact = pixels.astype(mx.int32).reshape(48, 2, 48, 3).sum(axis=(0, 2, 3)) / (48 * 48 * 3 * 255)
    assert mx.allclose(patches - centred(patches, 48), exact[:, None], atol=1e-6)
