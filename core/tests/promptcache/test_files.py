"""What is written comes back, and what is damaged does not."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.promptcache import Namespace
from mlxp_core.promptcache.files import (
    LIST,
    PIECE,
    VERSION,
    Damaged,
    Filed,
    FiledCheckpoint,
    Tensor,
    read_checkpoint,
    read_piece,
    write_checkpoint,
    write_piece,
)
from mlxp_core.promptcache.layout import Checkpoint, Group, Link

ROWS = [[Tensor("F32", (1, 2, 3), bytes(range(24)))], [], [Tensor("U8", (5,), b"abcde")]]


def plain(rows):
    return [[(tensor.dtype, tensor.shape, bytes(tensor.data)) for tensor in row] for row in rows]


@pytest.fixture
def piece(tmp_path):
    return write_piece(tmp_path, 3, 6, ROWS)


@pytest.fixture
def checkpoint(piece):
    groups = (Group((0, 2), 7, False, (Link(piece, 6),)), Group((1,), None, True, (Link(piece, 6),)))
    return FiledCheckpoint(
        Namespace("w", "float32; kv4", ("a", "b")), (5, 7, -(2**255), 9), Checkpoint(6, 8, groups)
    )


def test_a_piece_comes_back(tmp_path, piece):
    assert (piece.first, piece.stop, piece.nbytes) == (3, 6, 29)
    back = read_piece(tmp_path, piece)
    assert plain(back) == plain(ROWS)


def test_equal_pieces_are_one_file_that_others_can_read(tmp_path, piece):
    assert write_piece(tmp_path, 3, 6, ROWS) == piece
    assert write_piece(tmp_path, 4, 7, ROWS) != piece
    (path, _) = sorted(tmp_path.iterdir(), key=lambda path: path.stem != piece.name)
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header["__metadata__"]["format"] == f"mlxp-promptcache-{VERSION}"
    assert header["0.0"] == {"dtype": "F32", "shape": [1, 2, 3], "data_offsets": [0, 24]}
    assert int.from_bytes(data[:8], "little") % 8 == 0


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_damage_to_a_piece_is_noticed(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("pieces")
    piece = write_piece(folder, 3, 6, ROWS)
    path = folder / f"{piece.name}{PIECE}"
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    cut, flip = data.draw(st.booleans()), data.draw(st.integers(1, 255))
    bad = whole[:place] if cut else whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]
    path.write_bytes(bad)
    with suppress(Damaged):  # it may be in the blanks of the header, or in a word that does not count
        assert plain(read_piece(folder, piece)) == plain(ROWS)


def test_what_is_missing_is_damaged(tmp_path):
    with pytest.raises(Damaged, match="cannot be read"):
        read_piece(tmp_path, Filed("nothing", 0, 1, 1))
    with pytest.raises(Damaged, match="cannot be read"):
        read_checkpoint(tmp_path / f"nothing{LIST}")


def test_a_checkpoint_comes_back(tmp_path, checkpoint):
    write_checkpoint(tmp_path, checkpoint)
    back = read_checkpoint(tmp_path / f"{checkpoint.name}{LIST}")
    assert (back.namespace, back.key, back.name) == (checkpoint.namespace, checkpoint.key, checkpoint.name)
    assert (back.row.length, back.row.reached, back.row.groups) == (6, 8, checkpoint.row.groups)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"x" + b, lambda b: b.replace(b"-%d " % VERSION, b"-1 ", 1)]
)
def test_a_damaged_checkpoint_or_one_of_another_version_is_refused(tmp_path, checkpoint, damage):
    write_checkpoint(tmp_path, checkpoint)
    path = tmp_path / f"{checkpoint.name}{LIST}"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(Damaged, match="damaged, or of another version"):
        read_checkpoint(path)


def test_nothing_half_written_is_left(tmp_path, checkpoint):
    write_checkpoint(tmp_path, checkpoint)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [LIST, PIECE]
