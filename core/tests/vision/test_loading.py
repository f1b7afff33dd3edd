"""Which models see, and what becomes of those that should but cannot."""

import json
import logging

import mlx.core as mx
import pytest
from msgspec.structs import replace

from mlxp_core.errors import BadRequest, ModelFolderError, PluginError
from mlxp_core.loading.eyes import image_settings
from mlxp_core.loading.tower import load_tower
from mlxp_core.testing.looking import look
from mlxp_core.testing.pictures import picture
from mlxp_core.types import GenerateRequest, Message, Text

BLIND = "{% for message in messages %}{{ message.content }}{% endfor %}"


def asked(*parts):
    return GenerateRequest(id="r", model="m", prompt=(Message("user", parts),))


def test_a_seer_says_so_and_prepares_images(write, loaded):
    frontend = loaded(write()).frontend
    assert frontend.info.capabilities.vision
    prompt = frontend.prepare(asked(Text("look"), picture(3, 2)))
    assert [span.count for span in prompt.spans] == [6]
    assert prompt.whole_images


def test_the_family_says_whether_images_may_be_cut(write, loaded):
    frontend = loaded(write(looks_ahead=False)).frontend
    assert not frontend.prepare(asked(picture())).whole_images


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shapes": {}}, "hold no vision tower 'seer', nor eyes.safetensors beside them"),
        ({"vision_config": {"front": 1}}, "vision_config has no side"),
        ({"template": BLIND}, "its chat template shows no images"),
    ],
)
def test_eyes_that_cannot_be_used_are_a_warning(write, loaded, caplog, options, said):
    with caplog.at_level(logging.WARNING):
        frontend = loaded(write(**options)).frontend
    assert not frontend.info.capabilities.vision
    assert "seer is served without eyes" in caplog.text
    assert said in caplog.text
    assert frontend.prepare(asked(Text("hello"))).images == ()
    with pytest.raises(BadRequest, match="cannot see"):
        frontend.prepare(asked(picture()))


def test_a_placeholder_that_is_no_token_is_a_warning(write, loaded, caplog):
    folder = write()
    table = folder / "tokenizer.json"
    table.write_text(table.read_text("utf-8").replace("<|reserved_4|>", "<|other_4|>"), "utf-8")
    assert not loaded(folder).frontend.info.capabilities.vision
    assert "its tokenizer lacks it" in caplog.text


def test_a_configuration_without_eyes_is_no_warning(write, loaded, caplog):
    assert not loaded(write(vision_config=None)).frontend.info.capabilities.vision
    assert caplog.text == ""


def test_a_tower_that_nobody_brings_is_the_operators_matter(write, loaded, brought):
    brought.vision_towers, kept = {}, brought.vision_towers
    try:
        with pytest.raises(PluginError, match="needs the vision tower 'seer', which no plugin brings"):
            loaded(write())
    finally:
        brought.vision_towers = kept


class TestTower:
    @pytest.mark.parametrize("beside", [False, True])
    def test_weights_are_found_inside_and_beside(self, write, loaded, beside):
        folder = write(beside=beside)
        parts = loaded(folder)
        tower = load_tower(parts.folder, parts.frontend.eyes)
        stored = mx.load(str(folder / ("eyes" if beside else "model")) + ".safetensors")
        assert mx.array_equal(tower.place, stored["eye.place"])

    def test_weights_beside_win(self, write, loaded):
        folder = write()
        ours = {"eye.colour.weight": mx.ones((32, 3)), "eye.place": mx.zeros((16, 32))}
        mx.save_safetensors(str(folder / "eyes.safetensors"), ours)
        parts = loaded(folder)
        tower = load_tower(parts.folder, parts.frontend.eyes)
        (pixels,) = parts.frontend.prepare(asked(picture(1, 1, (255, 0, 0)))).images
        assert look(tower, pixels).tolist() == [[2.0] * 32]

    def test_what_does_not_fit_is_said(self, write, loaded):
        parts = loaded(write(shapes={"eye.colour.weight": (32, 4)}))
        with pytest.raises(
            ModelFolderError, match=r"vision tower 'seer'.*1 missing: place.*colour.weight is"
        ):
            load_tower(parts.folder, parts.frontend.eyes)

    def test_a_tower_must_be_a_module(self, write, loaded):
        parts = loaded(write())
        eyes = parts.frontend.eyes
        wrong = replace(eyes, tower=replace(eyes.tower, build=lambda config: config))
        with pytest.raises(PluginError, match="builds a EyeConfig"):
            load_tower(parts.folder, wrong)


class TestSettings:
    def test_none(self, tmp_path):
        assert image_settings(tmp_path) == {}

    def test_the_section_of_the_whole_processor_wins(self, tmp_path):
        whole = {"side": 3, "seq": 2, "image_processor": {"side": 2}}
        (tmp_path / "processor_config.json").write_text(json.dumps(whole))
        (tmp_path / "preprocessor_config.json").write_text('{"side": 1}')
        assert image_settings(tmp_path) == {**whole, "side": 2}

    def test_else_the_file_of_its_own(self, tmp_path):
        (tmp_path / "processor_config.json").write_text('{"side": 3, "seq": 2}')
        (tmp_path / "preprocessor_config.json").write_text('{"side": 1}')
        assert image_settings(tmp_path) == {"side": 1, "seq": 2}

    def test_they_reach_the_preparer_and_the_digest(self, write, loaded):
        folder = write()
        before = loaded(folder).frontend.prepare(asked(picture(4, 4))).images[0]
        (folder / "preprocessor_config.json").write_text('{"side": 2}')
        after = loaded(folder).frontend.prepare(asked(picture(4, 4))).images[0]
        assert (before.tokens, after.tokens) == (16, 4)
        assert before.digest != after.digest

    def test_a_damaged_file_is_a_warning(self, write, loaded, caplog):
        folder = write()
        (folder / "preprocessor_config.json").write_text("{")
        assert not loaded(folder).frontend.info.capabilities.vision
        assert "preprocessor_config.json is damaged" in caplog.text
