import json

import pytest

from mlxp_core.errors import ModelFolderError, SettingsError
from mlxp_core.loading.kv_config import kv_scheme
from mlxp_core.types import EngineSettings, KVScheme, KVStorage


@pytest.fixture
def write(tmp_path):
    def put(value):
        (tmp_path / "kv_config.json").write_text(value if isinstance(value, str) else json.dumps(value))
        return tmp_path

    return put


def entry(layer, bits=4, group=64):
    return {"layer_idx": layer, "bits": bits, "group_size": group}


def test_off_and_uniform_read_no_file(write):
    folder = write("rubbish")
    assert kv_scheme(folder, EngineSettings(kv_quant="off")) == KVScheme()
    assert kv_scheme(folder, EngineSettings(kv_quant="8")) == KVScheme(mode="8", uniform=KVStorage(8, 64))
    assert kv_scheme(folder, EngineSettings(kv_quant="4")) == KVScheme(mode="4", uniform=KVStorage(4, 64))


def test_without_a_file_nothing_is_quantized(tmp_path):
    scheme = kv_scheme(tmp_path, EngineSettings(kv_quant="config"))
    assert scheme.plain
    assert scheme.mode == "config"


def test_a_file_lists_layers_exactly(write):
    folder = write([entry(7), {**entry(2, 8, 32), "remark": "sensitive"}, {"layer_idx": 0, "bits": 8}])
    scheme = kv_scheme(folder, EngineSettings(kv_quant="config"))
    assert scheme.layers == {7: KVStorage(4, 64), 2: KVStorage(8, 32), 0: KVStorage(8, 64)}
    assert scheme.uniform is None
    assert not scheme.plain


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[{", "must list layers"),
        ({"layers": []}, "must list layers"),
        ([{"bits": 4}], "layer_idx"),
        ([entry(-1)], "must list layers.*>= 0"),
        ([entry("one")], r"layer_idx"),
        ([entry(3), entry(3, 8)], "lists layer 3 twice"),
        ([entry(3, bits=7)], r"bits of layer 3 is 7; MLX has 2, 3, 4, 5, 6, 8"),
        ([entry(5, group=48)], r"group_size of layer 5 is 48; MLX has 32, 64, 128"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_place(write, content, said):
    folder = write(content)
    with pytest.raises(ModelFolderError, match=said) as refused:
        kv_scheme(folder, EngineSettings(kv_quant="config"))
    assert f"{folder.name}/kv_config.json" in refused.value.message


def test_ends_go_with_bits_for_all_layers(tmp_path):
    assert kv_scheme(tmp_path, EngineSettings(kv_quant="4", kv_plain_ends=2)).ends == 2
    with pytest.raises(SettingsError, match=r"kv_plain_ends.*not -1"):
        kv_scheme(tmp_path, EngineSettings(kv_quant="4", kv_plain_ends=-1))
