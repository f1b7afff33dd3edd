"""The tower against its definition, written out for patches in any order."""

import math

import mlx.core as mx
import pytest
from mlx.utils import tree_map

from mlxp_core.testing.networks import load, parameters, random_parameters
from mlxp_qwen35 import plugin
from mlxp_qwen35.eyes.config import read

GRIDS = [(1, 1, 1), (1, 3, 4), (1, 6, 2), (1, 1, 12)]


def image_of(grid, side, seed=0):
    _, rows, columns = grid
    shape = (rows * side, columns * side, 3)
    return mx.random.randint(0, 256, shape, key=mx.random.key(seed)).astype(mx.uint8)


@pytest.fixture
def config(seeing):
    return read(seeing)


@pytest.fixture
def network(config):
    (tower,) = plugin.mlxp_vision_towers()
    made = tower.build(config)
    load(made, random_parameters(made, 11))
    return made


class Plain:
    """The tower for a list of patches that say where they are."""

    def __init__(self, config, weights):
        self.config, self.weights = config, weights

    def __call__(self, pixels, grid, order):
        patch, merge = self.config.patch, self.config.merge
        rows, columns = grid[1] * merge, grid[2] * merge
        down, across = order // columns, order % columns
        cut = [self.patch_at(pixels, row, column) for row, column in pairs(down, across)]
        shown = mx.stack([mx.stack(cut)] * self.config.frames, axis=1) / 255 * 2 - 1
        assert shown.shape == (len(order), self.config.frames, patch, patch, 3)
        x = mx.einsum("nfhwc,ofhwc->no", shown, self.weights["patch_embed.weight"])
        x = x + self.weights["patch_embed.bias"] + self.positions(down, across, rows, columns)
        for number in range(self.config.layers):
            name = f"blocks.{number}."
            x = x + self.attended(self.normed(x, f"{name}norm1"), f"{name}attn.", down, across)
            inner = gelu_tanh(self.linear(self.normed(x, f"{name}norm2"), f"{name}mlp.linear_fc1"))
            x = x + self.linear(inner, f"{name}mlp.linear_fc2")
        return self.merged(self.normed(x, "merger.norm"), grid, down, across)

    def patch_at(self, pixels, row, column):
        side = self.config.patch
        return pixels[row * side : (row + 1) * side, column * side : (column + 1) * side].astype(mx.float32)

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def normed(self, x, name):
        centred = x - mx.mean(x, axis=-1, keepdims=True)
        scale = mx.rsqrt(mx.mean(centred**2, axis=-1, keepdims=True) + 1e-6)
        return centred * scale * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def positions(self, down, across, rows, columns):
        side, table = self.config.positions, self.weights["pos_embed.weight"]

        def mixed(row, column):
            y, x = row * (side - 1) / (rows - 1), column * (side - 1) / (columns - 1)
            return sum(
                max(0, 1 - abs(y - at_y)) * max(0, 1 - abs(x - at_x)) * table[at_y * side + at_x]
                for at_y in range(side)
                for at_x in range(side)
            )

        return mx.stack([mixed(*place) for place in pairs(down, across)])

    def attended(self, x, name, down, across):
        heads = (len(x), self.config.heads, self.config.head_dim)
        q, k, v = (part.reshape(heads) for part in mx.split(self.linear(x, f"{name}qkv"), 3, axis=-1))
        q, k = (self.turned(part, down, across) for part in (q, k))
        scores = mx.softmax(mx.einsum("ihd,jhd->hij", q, k) / math.sqrt(self.config.head_dim), axis=-1)
        return self.linear(mx.einsum("hij,jhd->ihd", scores, v).reshape(len(x), -1), f"{name}proj")

    def turned(self, x, down, across):
        quarter = self.config.head_dim // 4
        periods = self.config.theta ** (-2 * mx.arange(quarter) / (2 * quarter))
        angles = mx.concatenate([down[:, None] * periods, across[:, None] * periods], axis=-1)[:, None]
        left, right = x[..., : 2 * quarter], x[..., 2 * quarter :]
        cos, sin = mx.cos(angles), mx.sin(angles)
        return mx.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)

    def merged(self, x, grid, down, across):
        merge, at = self.config.merge, {place: number for number, place in enumerate(pairs(down, across))}
        neighbours = [(row, column) for row in range(merge) for column in range(merge)]
        blocks = [
            mx.concatenate([x[at[merge * row + dy, merge * column + dx]] for dy, dx in neighbours])
            for row in range(grid[1])
            for column in range(grid[2])
        ]
        inner = self.linear(mx.stack(blocks), "merger.linear_fc1")
        gelu = 0.5 * inner * (1 + mx.erf(inner / math.sqrt(2)))
        return self.linear(gelu, "merger.linear_fc2")


def pairs(down, across):
    return list(zip(down.tolist(), across.tolist(), strict=True))


def gelu_tanh(x):
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_features_are_what_the_definition_says_of_patches_in_any_order(config, network, grid):
    pixels = image_of(grid, config.side)
    order = mx.random.permutation(4 * grid[1] * grid[2], key=mx.random.key(3))
    expected = Plain(config, parameters(network))(pixels, grid, order)
    features = network(pixels, grid)
    assert features.shape == (grid[1] * grid[2], config.language)
    assert mx.allclose(features, expected, atol=1e-4)


def test_an_image_is_not_its_mirror_image(config, network):
    pixels = image_of((1, 2, 3), config.side)
    features, mirrored = network(pixels, (1, 2, 3)), network(pixels[:, ::-1], (1, 2, 3))
    assert not mx.allclose(features, mirrored, atol=0.05)
    assert not mx.allclose(features.reshape(2, 3, -1)[:, ::-1], mirrored.reshape(2, 3, -1), atol=0.05)


def test_features_have_the_type_of_the_weights(config, network):
    pixels = image_of((1, 2, 2), config.side)
    exact = network(pixels, (1, 2, 2))
    network.update(tree_map(lambda value: value.astype(mx.bfloat16), network.parameters()))
    rounded = network(pixels, (1, 2, 2))
    assert rounded.dtype == mx.bfloat16
    assert mx.allclose(rounded.astype(mx.float32), exact, atol=0.3)
