import mlx.core as mx
import pytest
from mlx.utils import tree_flatten

from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.loading.sketch import sketch_config, sketch_shapes, write_sketch
from mlxp_core.loading.sketch_tokenizer import MARKERS, sketch_tokenizer
from mlxp_core.testing.tiny import LEAST_VOCABULARY, write_tiny_model


def test_the_same_arguments_write_the_same_bytes(tmp_path):
    first, second = write_sketch(tmp_path / "a"), write_sketch(tmp_path / "b")
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()
    other = write_sketch(tmp_path / "c", seed=1)
    assert (first / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()


def test_writing_over_a_sketch_gives_the_new_one(tmp_path):
    write_sketch(tmp_path / "a", seed=1)
    again, fresh = write_sketch(tmp_path / "a"), write_sketch(tmp_path / "b")
    assert (again / "model.safetensors").read_bytes() == (fresh / "model.safetensors").read_bytes()


def test_the_tensors_are_the_configurations(tmp_path):
    opened = open_folder(write_sketch(tmp_path / "a"))
    assert {name: tensor.shape for name, tensor in opened.tensors.items()} == sketch_shapes(sketch_config())


def test_every_id_has_one_piece():
    tokenizer = sketch_tokenizer()
    vocabulary = tokenizer["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(len(vocabulary)))
    assert {token: text for text, token in vocabulary.items() if token in MARKERS} == MARKERS
    assert len(vocabulary) < sketch_config()["vocab_size"]


CONFIG = {"model_type": "pair", "vocab_size": 400, "hidden_size": 8}


class TestTinyModel:
    def test_its_family_loads_it(self, tmp_path, pair):
        opened = open_folder(write_tiny_model(tmp_path / "tiny", pair, CONFIG))
        family, config = choose_family(opened, {"pair": pair})
        network = load_network(opened, family, config)
        assert network.vocabulary == opened.vocabulary == 400
        for name, value in tree_flatten(network.model.parameters()):
            assert mx.isfinite(value).all(), name
            assert mx.any(value != 0), name

    def test_a_network_too_small_for_the_tokenizer_is_refused(self, tmp_path, pair):
        with pytest.raises(ValueError, match=f"{LEAST_VOCABULARY} tokens"):
            write_tiny_model(tmp_path / "tiny", pair, {**CONFIG, "vocab_size": LEAST_VOCABULARY - 1})
