"""The stranger's tower keeps the laws, and the laws catch towers that do not."""

import mlx.core as mx
import pytest
from mlx import nn
from msgspec.structs import replace
from PIL import Image

from mlxp_core.testing.family import FamilySuite
from mlxp_core.testing.vision import VisionSuite, assert_consistent


class TestSeerTower(VisionSuite):
    @pytest.fixture
    def tower(self, brought):
        return brought.vision_towers["seer"]

    @pytest.fixture
    def family(self, brought):
        return brought.families["seer"]

    @pytest.fixture
    def tiny_config(self, seer_config):
        return seer_config

    @pytest.fixture
    def checkpoint(self):
        return {f"eye.{name}": mx.zeros(shape) for name, shape in SHAPES.items()}


SHAPES = {"colour.weight": (32, 3), "place": (16, 32)}


class TestSeerFamily(FamilySuite):
    @pytest.fixture
    def family(self, brought):
        return brought.families["seer"]

    @pytest.fixture
    def tiny_config(self, seer_config):
        return seer_config


class Forgetful(nn.Module):
    """Looks at what it saw before."""

    def __init__(self):
        super().__init__()
        self.colour = nn.Linear(3, 32, bias=False)
        self._before = 0

    def __call__(self, pixels, grid):
        self._before += 1
        return mx.ones((grid[1] * grid[2], 32)) * self._before


def test_a_tower_with_a_memory_is_caught(seer):
    suite = VisionSuite()
    with pytest.raises(AssertionError):
        suite.test_features_depend_on_the_image_alone(seer.Preparer(4), Forgetful())


def test_a_tower_of_another_width_is_caught(seer):
    suite = VisionSuite()
    with pytest.raises(AssertionError):
        suite.test_features_are_what_was_announced(seer.Preparer(4), Forgetful(), 33, (64, 48))


def test_a_preparer_that_needs_arrays_is_caught(seer, brought, seer_config):
    suite = VisionSuite()
    tower = replace(brought.vision_towers["seer"], preparer=seer.prepare_with_arrays)
    with pytest.raises(AssertionError, match="preparing an image loads mlx"):
        suite.test_preparing_loads_no_arrays(tower, seer_config, {})


@pytest.mark.parametrize("lie", [{"tokens": 3}, {"grid": (1, 0, 0), "tokens": 0}, {"dtype": "float32"}])
def test_pixels_that_contradict_themselves_are_caught(seer, lie):
    pixels = seer.Preparer(4).prepare(Image.new("RGB", (9, 9)), "d")
    with pytest.raises(AssertionError):
        assert_consistent(replace(pixels, **lie))
