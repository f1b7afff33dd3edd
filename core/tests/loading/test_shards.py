import json
import shutil

import pytest

from mlxp_core.errors import ModelFolderError
from mlxp_core.loading import open_folder
from mlxp_core.loading.shards import INDEX, SINGLE, find_tensors, read_header


def write_shard(path, header, data=b"", *, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def entry(shape=(2,), offsets=(0, 8), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def refusal(path):
    with pytest.raises(ModelFolderError) as caught:
        read_header(path)
    assert path.name in caught.value.message
    return caught.value.message


def test_a_header_is_read(tmp_path):
    path = write_shard(tmp_path / SINGLE, {"__metadata__": {"format": "pt"}, "a": entry()}, bytes(8))
    ((name, tensor),) = read_header(path).items()
    assert (name, tensor.dtype, tensor.shape) == ("a", "F32", (2,))


@pytest.mark.parametrize(
    ("header", "data", "length", "said"),
    [
        ({}, b"", 10**9, "cut off"),
        (b"{]", b"", None, "no JSON"),
        (b"[]", b"", None, "no JSON object"),
        (b"\xff\xfe", b"", None, "no JSON"),
        ({"a": entry()}, bytes(7), None, "cut off"),
        ({"a": entry(offsets=(0, 12))}, bytes(12), None, "does not fill"),
        ({"a": entry(offsets=(8, 0))}, bytes(8), None, "does not fill"),
        ({"a": entry(offsets=(-8, 0))}, bytes(8), None, "no proper"),
        ({"a": entry(offsets=(0, 8, 9))}, bytes(8), None, "no proper"),
        ({"a": entry(shape=(2.0,))}, bytes(8), None, "no proper"),
        ({"a": entry(dtype="F8_E4M3")}, bytes(8), None, "F8_E4M3"),
        ({"a": entry(dtype=["F32"])}, bytes(8), None, "type"),
        ({"a": 7}, bytes(8), None, "type"),
    ],
)
def test_what_a_header_may_not_claim(tmp_path, header, data, length, said):
    assert said in refusal(write_shard(tmp_path / SINGLE, header, data, length=length))


@pytest.mark.parametrize("size", range(8))
def test_a_file_shorter_than_a_length(tmp_path, size):
    path = tmp_path / SINGLE
    path.write_bytes(bytes(size))
    assert "cut off" in refusal(path)


class TestIndex:
    @pytest.fixture
    def sharded(self, folder):
        """The folder with its one file as one of two shards."""
        (folder / SINGLE).rename(folder / "model-00001-of-00002.safetensors")
        write_shard(folder / "model-00002-of-00002.safetensors", {"extra": entry()}, bytes(8))
        places = dict.fromkeys(
            read_header(folder / "model-00001-of-00002.safetensors"), "model-00001-of-00002.safetensors"
        )
        self.write(folder, {**places, "extra": "model-00002-of-00002.safetensors"})
        return folder

    @staticmethod
    def write(folder, places):
        (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))

    def test_every_tensor_is_found_where_the_index_says(self, sharded):
        tensors = open_folder(sharded).tensors
        assert tensors["extra"].file.name == "model-00002-of-00002.safetensors"
        assert len(tensors) == 9

    def test_both_files_count(self, sharded):
        expected = sum(file.stat().st_size for file in sharded.glob("*.safetensors"))
        assert open_folder(sharded).weight_bytes == expected

    def test_a_shard_that_is_not_there(self, sharded):
        (sharded / "model-00002-of-00002.safetensors").unlink()
        with pytest.raises(ModelFolderError, match=r"00002-of-00002\.safetensors is missing"):
            find_tensors(sharded)

    def test_a_tensor_that_is_not_in_its_shard(self, sharded):
        write_shard(sharded / "model-00002-of-00002.safetensors", {"else": entry()}, bytes(8))
        with pytest.raises(ModelFolderError, match="'extra' should be here"):
            find_tensors(sharded)

    @pytest.mark.parametrize("place", ["../x.safetensors", "/etc/passwd", "a/b", "", 7, None])
    def test_a_place_outside_the_folder(self, sharded, place):
        self.write(sharded, {"extra": place})
        with pytest.raises(ModelFolderError, match="no name of a file"):
            find_tensors(sharded)

    @pytest.mark.parametrize("text", ["{}", '{"weight_map": []}', '{"weight_map": {}}', "[]", "{"])
    def test_an_index_without_a_map(self, sharded, text):
        (sharded / INDEX).write_text(text)
        with pytest.raises(ModelFolderError, match="index"):
            find_tensors(sharded)

    def test_a_shard_cut_off_on_its_way(self, sharded):
        path = sharded / "model-00001-of-00002.safetensors"
        whole = path.read_bytes()
        for size in (0, 5, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            with pytest.raises(ModelFolderError, match="cut off"):
                find_tensors(sharded)


def test_a_copy_without_weights(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "bare", ignore=shutil.ignore_patterns("*.safetensors"))
    with pytest.raises(ModelFolderError, match="no weights"):
        find_tensors(tmp_path / "bare")
