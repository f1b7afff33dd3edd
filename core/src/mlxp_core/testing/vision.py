"""What every vision tower must hold to, both halves of it.

Subclass ``VisionSuite`` and give it ``tower``, ``family`` and ``tiny_config``, a config.json of a network with eyes and
a few small layers. Everything runs in float32 on random weights that are the same in every run.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import mlx.core as mx
import pytest
from mlx import nn
from mlx.utils import tree_unflatten
from PIL import Image

from mlxp_core.contracts import (
    ImagePreparer,
    LanguageModel,
    ModelFamily,
    Pixels,
    RawConfig,
    VisionConfig,
    VisionNetwork,
    VisionTower,
)
from mlxp_core.errors import BadRequest, UnsupportedModel
from mlxp_core.loading.sketch_tokenizer import sketch_tokenizer
from mlxp_core.prompting import Sight, Tokenizer
from mlxp_core.testing.looking import LookLaws, look
from mlxp_core.testing.networks import parameters, random_parameters
from mlxp_core.testing.pictures import chequered, picture

SEED = 7
SIZES = ((64, 48), (48, 64), (200, 200), (97, 333))
"""Width and height in pixels of images that any tower takes."""

EXTREME_SIZES = ((1, 1), (1, 2000), (2000, 1), (3, 5), (1023, 769))

_PREPARE_ALONE = """
import importlib, json, sys
from PIL import Image

def find(name):
    module, _, path = name.partition(":")
    thing = importlib.import_module(module)
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing

raw, settings = json.load(sys.stdin)
preparer = find(sys.argv[2])(find(sys.argv[1])(raw), settings)
preparer.expand(preparer.prepare(Image.new("RGB", (64, 48)), "digest"))
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"mlx"}))
"""


class VisionSuite(LookLaws):
    """Laws of towers. Override ``settings``, ``blind_config``, ``checkpoint`` where there is more to say."""

    @pytest.fixture
    def tower(self) -> VisionTower:
        """Return the tower under test."""
        raise NotImplementedError("give VisionSuite a fixture `tower`")

    @pytest.fixture
    def family(self) -> ModelFamily:
        """Return the family that sees by it."""
        raise NotImplementedError("give VisionSuite a fixture `family`")

    @pytest.fixture
    def tiny_config(self) -> dict[str, Any]:
        """Return the config.json of a tiny network with eyes."""
        raise NotImplementedError("give VisionSuite a fixture `tiny_config`")

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        """Return image settings as the core hands them to the preparer."""
        return {}

    @pytest.fixture
    def blind_config(self, tiny_config: RawConfig) -> dict[str, Any]:
        """Return the config.json of the network without eyes."""
        return {key: value for key, value in tiny_config.items() if "vision" not in key}

    @pytest.fixture
    def config(self, tower: VisionTower, tiny_config: RawConfig) -> VisionConfig:
        """Return the configuration as the tower reads it."""
        config = tower.config(tiny_config)
        assert config is not None, "`tiny_config` has no eyes"
        return config

    @pytest.fixture
    def preparer(
        self, tower: VisionTower, config: VisionConfig, settings: Mapping[str, Any]
    ) -> ImagePreparer:
        """Return the half without arrays."""
        return tower.preparer(config, settings)

    @pytest.fixture
    def network(self, tower: VisionTower, config: VisionConfig) -> VisionNetwork:
        """Return the tower with random weights."""
        network = tower.build(config)
        weights = random_parameters(cast("LanguageModel", network), SEED)
        cast("nn.Module", network).update(tree_unflatten(list(weights.items())))
        return network

    @pytest.fixture
    def checkpoint(self, network: VisionNetwork) -> Mapping[str, mx.array]:
        """Return the tensors of a checkpoint; by default, one that uses the tower's own names."""
        return parameters(cast("LanguageModel", network))

    @pytest.fixture
    def hidden(self, family: ModelFamily, tiny_config: RawConfig) -> int:
        """Return the width of the language model."""
        network = family.build(family.config(tiny_config))
        return network.embed(mx.zeros((1, 1), dtype=mx.int32)).shape[-1]

    # ── Configuration and weights ───────────────────────────────────────────────────────────────────────────────

    def test_the_family_names_it(self, tower: VisionTower, family: ModelFamily) -> None:
        """A tower that no family names is never looked through."""
        assert family.vision_tower == tower.name

    def test_a_configuration_without_eyes_has_none(self, tower: VisionTower, blind_config: RawConfig) -> None:
        """It is no error to be blind."""
        assert tower.config(blind_config) is None

    def test_wrong_values_are_refused_as_unsupported(
        self, tower: VisionTower, tiny_config: RawConfig
    ) -> None:
        """A part of a wrong type is refused by our own error, or ignored."""
        refused = 0
        for key in tiny_config:
            try:
                tower.config({**tiny_config, key: {"no": "sense"}})
            except UnsupportedModel:
                refused += 1
        assert refused, "not one key of config.json is checked"

    def test_every_parameter_has_one_name_in_a_checkpoint(
        self,
        tower: VisionTower,
        config: VisionConfig,
        network: VisionNetwork,
        checkpoint: Mapping[str, mx.array],
    ) -> None:
        """Renamed and converted, a checkpoint is exactly the parameters."""
        weights: dict[str, mx.array] = {}
        for name, value in checkpoint.items():
            if (parameter := tower.rename(name)) is not None:
                assert parameter not in weights, f"two tensors of the checkpoint become {parameter!r}"
                weights[parameter] = value
        if tower.convert is not None:
            tower.convert(weights, config)
        own = parameters(cast("LanguageModel", network))
        assert {name: value.shape for name, value in weights.items()} == {
            name: value.shape for name, value in own.items()
        }

    def test_the_family_drops_what_the_tower_keeps(
        self, tower: VisionTower, family: ModelFamily, checkpoint: Mapping[str, mx.array]
    ) -> None:
        """No tensor is a parameter of both."""
        both = [name for name in checkpoint if tower.rename(name) is not None]
        assert [name for name in both if family.rename(name) is not None] == []

    # ── Preparing ───────────────────────────────────────────────────────────────────────────────────────────────

    def test_preparing_loads_no_arrays(
        self, tower: VisionTower, tiny_config: RawConfig, settings: Mapping[str, Any]
    ) -> None:
        """Tried in a process of its own, where ``config`` and ``preparer`` are found by their names."""
        command = [sys.executable, "-c", _PREPARE_ALONE, _address(tower.config), _address(tower.preparer)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        given = json.dumps([tiny_config, settings])
        done = subprocess.run(  # noqa: S603  # us
            command, env=environment, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [], "preparing an image loads mlx; it runs on worker threads"

    @pytest.mark.parametrize("size", SIZES)
    def test_pixels_are_what_they_say(self, preparer: ImagePreparer, size: tuple[int, int]) -> None:
        """As many numbers as the shape has, as many tokens as the grid; the same ones again for the same image."""
        pixels = preparer.prepare(chequered(*size), "digest")
        assert_consistent(pixels)
        assert pixels.digest == "digest"
        assert preparer.prepare(chequered(*size), "digest") == pixels

    @pytest.mark.parametrize("size", EXTREME_SIZES)
    def test_any_size_is_taken_or_refused(self, preparer: ImagePreparer, size: tuple[int, int]) -> None:
        """By ``BadRequest`` and nothing else."""
        with suppress(BadRequest):
            assert_consistent(preparer.prepare(chequered(*size), "digest"))

    def test_what_is_seen_depends_on_the_image(self, preparer: ImagePreparer) -> None:
        """Another image of the same size has other pixels."""
        one, other = (
            preparer.prepare(Image.new("RGB", (64, 48), colour), "digest") for colour in ("red", "blue")
        )
        assert one.values != other.values

    def test_soft_tokens_stand_where_the_spans_say(self, preparer: ImagePreparer) -> None:
        """Two images in a prompt become what ``expand`` says, and nothing around them changes."""
        tokenizer = _tokenizer_with(preparer)
        sight = Sight(preparer, tokenizer)
        looked = sight.look([picture(*size) for size in SIZES[:2]])
        text = f"a{preparer.placeholder}b{preparer.placeholder}c"
        expanded = sight.expand(tokenizer.encode(text), looked, ())
        written = [preparer.expand(pixels) for pixels in looked]
        one, other = (
            f"{shape.before}{shape.each * pixels.tokens}{shape.after}"
            for shape, pixels in zip(written, looked, strict=True)
        )
        assert tokenizer.decode(expanded.tokens) == f"a{one}b{other}c"
        for span, shape, pixels in zip(expanded.spans, written, looked, strict=True):
            soft = tokenizer.token_id(shape.each)
            assert set(expanded.tokens[span.start : span.end]) == {soft}
            assert (span.count, span.grid) == (pixels.tokens, pixels.grid)

    # ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.parametrize("size", SIZES)
    def test_features_are_what_was_announced(
        self, preparer: ImagePreparer, network: VisionNetwork, hidden: int, size: tuple[int, int]
    ) -> None:
        """One for each token, of the language model's width, finite, and the same again."""
        pixels = preparer.prepare(chequered(*size), "digest")
        features = look(network, pixels)
        assert features.shape == (pixels.tokens, hidden)
        assert mx.isfinite(features).all()
        assert mx.array_equal(look(network, pixels), features)

    def test_features_depend_on_the_image_alone(
        self, preparer: ImagePreparer, network: VisionNetwork
    ) -> None:
        """Not on what was seen before; and on all of it."""
        first, other = (preparer.prepare(chequered(*size), "digest") for size in SIZES[:2])
        features = look(network, first)
        look(network, other)
        assert mx.array_equal(look(network, first), features)
        changed = preparer.prepare(chequered(*SIZES[0], colour=(10, 200, 90)), "digest")
        assert not mx.allclose(look(network, changed), features)


def assert_consistent(pixels: Pixels) -> None:
    """Assert that the parts of an image do not contradict each other."""
    item = {"uint8": 1, "float32": 4}[pixels.dtype]
    assert len(pixels.values) == math.prod(pixels.shape) * item
    assert pixels.tokens == math.prod(pixels.grid) >= 1


def _address(function: Callable[..., object]) -> str:
    path = f"{function.__module__}:{function.__qualname__}"
    assert "<" not in path, f"{path} cannot be found by its name; make it a function of its module"
    return path


def _tokenizer_with(preparer: ImagePreparer) -> Tokenizer:
    """Return the sketch's tokenizer with the tokens of images added."""
    table = sketch_tokenizer()
    shape = preparer.expand(preparer.prepare(chequered(*SIZES[0]), "digest"))
    known = {entry["content"] for entry in table["added_tokens"]}
    for text in dict.fromkeys((preparer.placeholder, shape.each)):
        if text not in known:
            token = len(table["model"]["vocab"]) + len(table["added_tokens"])
            table["added_tokens"].append({**table["added_tokens"][0], "id": token, "content": text})
    return Tokenizer(json.dumps(table).encode())
