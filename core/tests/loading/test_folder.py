import json
import shutil

import pytest

from mlxp_core.errors import ModelFolderError, UnsupportedModel
from mlxp_core.loading import open_folder
from mlxp_core.types import GenerationDefaults


def change(path, **fields):
    """Set fields of a JSON file; ``None`` removes one."""
    value = {**json.loads(path.read_text()), **fields}
    path.write_text(json.dumps({key: entry for key, entry in value.items() if entry is not None}))


def refusal(folder, kind=ModelFolderError):
    with pytest.raises(kind) as caught:
        open_folder(folder)
    return caught.value.message


def test_a_whole_folder_is_read(folder):
    opened = open_folder(folder)
    assert (opened.name, opened.model_type, opened.context, opened.vocabulary) == ("pair", "pair", 512, 384)
    assert opened.weight_bytes == (folder / "model.safetensors").stat().st_size
    assert opened.defaults == GenerationDefaults(temperature=0.9, top_p=0.95)
    assert "<|im_start|>" in opened.facts().special_tokens
    assert "<function name=" in opened.facts().template
    assert opened.warnings == ()


def test_no_folder_at_all(tmp_path):
    assert "no folder" in refusal(tmp_path / "absent")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    message = refusal(folder)
    assert name in message
    assert folder.name in message


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("text", ["{", "", "[1]", "\x00", "nul"])
def test_a_file_that_is_no_json_object_is_named(folder, name, text):
    (folder / name).write_text(text)
    assert name in refusal(folder)


def test_a_config_without_model_type(folder):
    change(folder / "config.json", model_type=None)
    assert "model_type" in refusal(folder)


@pytest.mark.parametrize("method", ["gptq", "awq", "fp8", "bitsandbytes", "compressed-tensors"])
def test_foreign_quantization_is_refused_by_name(folder, method):
    change(folder / "config.json", quantization_config={"quant_method": method})
    assert method in refusal(folder, UnsupportedModel)


def test_our_own_quantization_passes(folder):
    section = {"group_size": 64, "bits": 4}
    change(folder / "config.json", quantization=section, quantization_config=section)
    assert open_folder(folder).config["quantization"] == section


class TestEnds:
    def test_both_files_are_united(self, folder):
        change(folder / "config.json", eos_token_id=[1])
        change(folder / "generation_config.json", eos_token_id=[24, 25])
        assert open_folder(folder).end_ids == {1, 24, 25}

    def test_the_text_part_answers_where_the_top_is_silent(self, folder):
        change(folder / "config.json", eos_token_id=None, text_config={"eos_token_id": 7})
        (folder / "generation_config.json").unlink()
        assert open_folder(folder).end_ids == {7}

    def test_the_top_wins_over_the_text_part(self, folder):
        change(folder / "config.json", eos_token_id=[3], text_config={"eos_token_id": 7})
        (folder / "generation_config.json").unlink()
        assert open_folder(folder).end_ids == {3}


class TestGenerationDefaults:
    def test_only_sensible_numbers_count(self, folder):
        values = {"temperature": True, "top_p": "0.9", "top_k": 64.0, "min_p": 7, "repetition_penalty": 0}
        (folder / "generation_config.json").write_text(json.dumps(values))
        assert open_folder(folder).defaults == GenerationDefaults(top_k=64)

    @pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"temperature": NaN}', '{"top_k": 1e400}'])
    def test_a_broken_file_is_no_failure(self, folder, text):
        (folder / "generation_config.json").write_text(text)
        assert open_folder(folder).defaults == GenerationDefaults()

    def test_a_broken_file_is_a_warning(self, folder):
        (folder / "generation_config.json").write_text("{")
        assert "generation_config.json" in open_folder(folder).warnings[0]


class TestContext:
    def test_the_text_part_comes_first(self, folder):
        change(folder / "config.json", text_config={"max_position_embeddings": 77, "vocab_size": 99})
        opened = open_folder(folder)
        assert (opened.context, opened.vocabulary) == (77, 99)

    def test_the_tokenizer_answers_where_the_config_is_silent(self, folder):
        change(folder / "config.json", max_position_embeddings=None)
        change(folder / "tokenizer_config.json", model_max_length=2048)
        assert open_folder(folder).context == 2048

    def test_nobody_knows(self, folder):
        change(folder / "config.json", max_position_embeddings=None)
        change(folder / "tokenizer_config.json", model_max_length=10**30)
        opened = open_folder(folder)
        assert opened.context > 0
        assert "how long" in opened.warnings[0]


class TestTemplates:
    def test_the_file_of_its_own_wins(self, folder):
        change(folder / "tokenizer_config.json", chat_template="other")
        assert "im_start" in open_folder(folder).templates.default

    def test_a_string_in_tokenizer_config(self, folder):
        (folder / "chat_template.jinja").unlink()
        change(folder / "tokenizer_config.json", chat_template="written")
        assert open_folder(folder).templates.default == "written"

    def test_a_list_of_named_ones(self, folder):
        (folder / "chat_template.jinja").unlink()
        named = [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]
        change(folder / "tokenizer_config.json", chat_template=named)
        templates = open_folder(folder).templates
        assert (templates.default, templates.with_tools) == ("D", "T")

    @pytest.mark.parametrize("value", [7, [], [{"name": "rag", "template": "R"}], ["D"], {"default": "D"}])
    def test_anything_else_is_said(self, folder, value):
        (folder / "chat_template.jinja").unlink()
        change(folder / "tokenizer_config.json", chat_template=value)
        assert "chat_template" in refusal(folder)

    def test_none_is_fine(self, folder):
        (folder / "chat_template.jinja").unlink()
        assert open_folder(folder).templates.default is None


def test_the_folder_may_be_copied(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    assert open_folder(tmp_path / "copy").tensors.keys() == open_folder(folder).tensors.keys()
