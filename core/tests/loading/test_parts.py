"""Parts: what all ranks hold together is the whole, and nothing else is read."""

import json

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.contracts import Cut, Division, kv_share, share
from mlxp_core.errors import ModelFolderError, UnsupportedModel
from mlxp_core.loading.parts import Part, cut_shapes
from mlxp_core.loading.shards import read_header
from mlxp_core.loading.slices import Slices


def part(rank, ranks, **cuts):
    named = {name.replace("__", "."): cut for name, cut in cuts.items()}
    return Part(Division(config=None, cuts=named, sums=()), rank, ranks)


def stored(folder, **arrays):
    """Write arrays into a file, and return its tensors."""
    path = folder / "model.safetensors"
    mx.save_safetensors(str(path), arrays)
    return read_header(path)


def read(tensors, held):
    """Return what a rank reads, by name, and how many bytes that is."""
    slices = Slices({name: held.slice_of(name, tensor) for name, tensor in tensors.items()})
    return dict(slices), slices.read_bytes


@st.composite
def cuts(draw):
    """Return a shape, how it is cut, and among how many ranks."""
    ranks = draw(st.integers(1, 4))
    copies = draw(st.sampled_from([each for each in range(1, ranks + 1) if ranks % each == 0]))
    axis = draw(st.sampled_from(["outputs", "inputs", "first"]))
    runs = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    lengths = [run * (ranks // copies) for run in runs]
    shape = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3))
    shape[{"outputs": -2, "inputs": -1, "first": 0}[axis]] = sum(lengths)
    return tuple(shape), Cut(axis, tuple(lengths) if len(lengths) > 1 else (), copies), ranks


@given(cuts(), st.sampled_from([mx.float32, mx.bfloat16, mx.uint32, mx.int8]))
def test_parts_of_each_run_side_by_side_are_the_whole(tmp_path_factory, case, dtype):
    shape, cut, ranks = case
    whole = mx.arange(mx.zeros(shape).size).reshape(shape).astype(dtype)
    tensors = stored(tmp_path_factory.mktemp("cut"), **{"a.weight": whole})
    axis = {"outputs": len(shape) - 2, "inputs": len(shape) - 1, "first": 0}[cut.axis]
    found = [read(tensors, part(rank, ranks, a=cut)) for rank in range(ranks)]
    lengths = cut.runs or (shape[axis],)
    shares = ranks // cut.copies
    ends = [sum(lengths[:count]) for count in range(1, len(lengths))]
    for rank, (arrays, read_bytes) in enumerate(found):
        pieces = [
            mx.split(run, shares, axis=axis)[rank // cut.copies] for run in mx.split(whole, ends, axis=axis)
        ]
        expected = mx.concatenate(pieces, axis=axis)
        assert arrays["a.weight"].dtype == dtype
        assert mx.array_equal(arrays["a.weight"], expected)
        assert read_bytes == expected.nbytes
        assert cut_shapes(tensors, part(rank, ranks, a=cut))["a.weight"].shape == expected.shape


def test_what_is_not_named_is_whole_on_all_ranks(tmp_path):
    norm = mx.arange(6).astype(mx.float32)
    tensors = stored(tmp_path, **{"layers.0.norm.weight": norm, "scalar": mx.array(3.0)})
    for rank in range(2):
        arrays, read_bytes = read(tensors, part(rank, 2, q_proj=Cut("outputs")))
        assert mx.array_equal(arrays["layers.0.norm.weight"], norm)
        assert arrays["scalar"].item() == 3.0
        assert read_bytes == norm.nbytes + 4


def test_packed_weights_are_cut_by_groups(tmp_path):
    packed, scales, biases = mx.quantize(mx.random.normal((8, 128)), group_size=32, bits=4)
    tensors = stored(tmp_path, **{"o.weight": packed, "o.scales": scales, "o.biases": biases})
    halves = [read(tensors, part(rank, 2, o=Cut("inputs")))[0] for rank in range(2)]
    plain = [mx.dequantize(each["o.weight"], each["o.scales"], each["o.biases"], 32, 4) for each in halves]
    whole = mx.dequantize(packed, scales, biases, 32, 4)
    assert mx.array_equal(mx.concatenate(plain, axis=1), whole)
    with pytest.raises(UnsupportedModel, match=r"o\.(scales|biases): 4 along its axis of inputs .* 8 ranks"):
        read(tensors, part(0, 8, o=Cut("inputs")))


def test_a_bias_behind_a_sum_is_added_once(tmp_path):
    bias = mx.ones((4,))
    tensors = stored(tmp_path, **{"o.bias": bias, "q.bias": bias})
    both = [read(tensors, part(rank, 2, o=Cut("inputs"), q=Cut("outputs"))) for rank in range(2)]
    assert mx.array_equal(both[0][0]["o.bias"] + both[1][0]["o.bias"], bias)
    assert [arrays["q.bias"].shape for arrays, _ in both] == [(2,), (2,)]
    assert [read_bytes for _, read_bytes in both] == [24, 8]


def test_the_longest_ending_of_a_name_counts(tmp_path):
    tensors = stored(tmp_path, **{"l.0.k.weight": mx.ones((4, 2)), "l.1.k.weight": mx.ones((4, 2))})
    held = part(1, 2, k=Cut("outputs"), **{"0__k": Cut("outputs", copies=2)})
    shapes = {name: tensor.shape for name, tensor in cut_shapes(tensors, held).items()}
    assert shapes == {"l.0.k.weight": (4, 2), "l.1.k.weight": (2, 2)}


def test_what_is_dropped_before_it_was_asked_for_is_never_read(tmp_path):
    tensors = stored(tmp_path, a=mx.ones((4,)), b=mx.ones((8,)), c=mx.ones((2,)))
    told = []
    whole = part(0, 1)
    slices = Slices({n: whole.slice_of(n, t) for n, t in tensors.items()}, lambda *each: told.append(each))
    del slices["b"]
    slices["c"] = slices.pop("c") + 1
    assert sorted(slices) == ["a", "c"]
    assert len(slices) == 2
    assert "b" not in slices
    assert {name: array.tolist() for name, array in slices.items()} == {"a": [1.0] * 4, "c": [2.0] * 2}
    assert slices.read_bytes == 24
    assert told == [(8, 56), (24, 56)]


def test_a_file_that_has_become_shorter_is_said_to_be(tmp_path):
    tensors = stored(tmp_path, a=mx.ones((64,)))
    file = tensors["a"].file
    with file.open("rb+") as open_file:
        open_file.truncate(file.stat().st_size - 8)
    with pytest.raises(ModelFolderError, match="ends before byte"):
        read(tensors, part(0, 1))


def test_double_precision_is_refused(tmp_path):
    header = json.dumps({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(ModelFolderError, match="F64"):
        read(read_header(path), part(0, 1))


@given(st.integers(1, 64), st.integers(1, 64))
def test_shares_come_out_even_or_are_refused(count, ranks):
    if count % ranks == 0:
        assert share(count, ranks, "heads") * ranks == count
        assert kv_share(count, ranks, "heads") == (count // ranks, 1)
    elif ranks % count == 0:
        assert kv_share(count, ranks, "heads") == (1, ranks // count)
    else:
        for divide in (share, kv_share):
            with pytest.raises(
                UnsupportedModel, match=f"heads {count} cannot be divided among {ranks} ranks"
            ):
                divide(count, ranks, "heads")
