"""The folder keeps what it is offered, over a restart, within its limit; nothing in it can do harm."""

import mlx.core as mx
import pytest

from mlxp_core.promptcache import Namespace
from mlxp_core.promptcache.files import LIST, PIECE
from mlxp_core.promptcache.pieces import snapshots_of
from mlxp_core.promptcache.tiers import Tiers

FIT = int


@pytest.fixture
def tiers(tmp_path):
    made = []

    def make(limit_bytes=2**20, folder=tmp_path, folder_bytes=2**20):
        for old in made:
            old.close(30.0)
        made.append(Tiers(limit_bytes, folder, folder_bytes))
        return made[-1]

    yield make
    for each in made:
        each.close(30.0)


def keep(tiers, row, tokens, **more):
    held = row.taken(row(tokens, **more), tiers.memory.relatives(row.namespace, tuple(tokens)))
    mx.eval([piece.layers for piece in held.parts])
    tiers.put(row.namespace, tuple(tokens), held)
    tiers.tend(idle=True)
    return held


def find(tiers, row, tokens, *, wait=True):
    return tiers.find(row.namespace, tuple(tokens), len(tokens) - 1, fit=FIT, wait=wait)


def test_a_restart_forgets_nothing(tiers, row):
    tokens = list(range(60))
    first = tiers()
    keep(first, row, tokens[:30])
    keep(first, row, tokens[:50])
    second = tiers()
    found = find(second, row, tokens)
    assert found.length == 50
    whole = row(tokens[:50]).freeze(0).layers
    assert row.told(snapshots_of(found.value, 50), 50) == row.told(whole, 50)
    assert len(second.disk) == 2
    assert find(second, row, [*tokens[:30], *range(100, 120)]).length == 30


def test_what_checkpoints_share_is_written_once(tiers, row, tmp_path):
    here = tiers()
    for length in range(20, 60, 10):
        keep(here, row, list(range(length)))
    here.close(30.0)
    stored = sum(path.stat().st_size for path in tmp_path.glob(f"*{PIECE}"))
    assert here.disk.nbytes <= stored
    full = 50 * 2 * 4
    assert here.disk.nbytes <= full + 4 * (2 * 7 * 2 * 4 + 3 * 4)


def test_other_models_and_adapters_find_nothing(tiers, row):
    first = tiers()
    keep(first, row, list(range(40)))
    first.put(Namespace("w", "float32", ("a",)), tuple(range(40)), row.taken(row(range(40))))
    first.close(30.0)
    second = tiers()
    for namespace in (Namespace("v", "float32"), Namespace("w", "kv4"), Namespace("w", "float32", ("b",))):
        assert second.find(namespace, tuple(range(50)), 49, fit=FIT, wait=True).value is None
    adapted = Namespace("w", "float32", ("a",))
    assert second.find(adapted, tuple(range(50)), 49, fit=FIT, wait=True).value is not None


def test_the_folder_stays_within_its_limit(tiers, row, tmp_path):
    limit = 3000
    here = tiers(folder_bytes=limit)
    for start in range(0, 2000, 100):
        keep(here, row, list(range(start, start + 40)))
        assert here.disk.nbytes <= limit
    here.close(30.0)
    sizes = [path.stat().st_size for path in tmp_path.glob(f"*{PIECE}")]
    assert 0 < here.disk.nbytes <= limit
    assert len(sizes) == 3 * len(list(tmp_path.glob(f"*{LIST}")))


@pytest.mark.parametrize("kind", [PIECE, LIST])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damaged_files_are_dropped_and_never_used(tiers, row, tmp_path, caplog, kind, damage):
    keep(tiers(), row, list(range(40)))
    tiers(folder=None)
    for path in tmp_path.glob(f"*{kind}"):
        data = path.read_bytes()
        match damage:
            case "cut":
                path.write_bytes(data[: len(data) // 2])
            case "changed":
                path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            case "gone":
                path.unlink()
    here = tiers()
    assert find(here, row, list(range(50))).value is None
    here.close(30.0)
    assert (len(here.disk), here.disk.nbytes) == (0, 0)
    assert not [path for path in tmp_path.iterdir() if path.suffix in {PIECE, LIST}]
    assert "drops" in caplog.text or (kind, damage) == (LIST, "gone")


def test_who_must_not_wait_asks_again(tiers, row):
    keep(tiers(), row, list(range(40)))
    here = tiers()
    asked = 0
    while not here.disk and asked < 10**6:
        here.tend()
        asked += 1
    first = find(here, row, list(range(50)), wait=False)
    assert first is None
    assert find(here, row, list(range(50)), wait=True).length == 40


def test_two_servers_do_not_share_a_folder(tiers, row, tmp_path, caplog):
    keep(tiers(), row, list(range(40)))
    other = Tiers(2**20, tmp_path, 2**20)
    assert "another server uses it" in other.disk.off
    assert "another server" in caplog.text
    keep(other, row, list(range(40)))
    assert find(other, row, list(range(50))).length == 40
    other.close(1.0)


def test_a_disk_that_fails_is_left_alone(tiers, row, tmp_path, caplog):
    here = tiers(folder=tmp_path / "cache")
    keep(here, row, list(range(40)))
    here.close(30.0)
    here = tiers(folder=tmp_path / "cache")
    for path in (tmp_path / "cache").iterdir():
        path.unlink()
    (tmp_path / "cache").rmdir()
    keep(here, row, list(range(100, 140)))
    here.close(30.0)
    assert here.disk.off is not None
    assert "keeps nothing more on disk" in caplog.text


def test_rubbish_of_a_crash_is_swept_away(tiers, row, tmp_path):
    keep(tiers(), row, list(range(40)))
    tiers(folder=None)
    (tmp_path / f".half{PIECE}.new").write_bytes(b"half")
    (tmp_path / f"orphan{PIECE}").write_bytes(b"nobody's")
    here = tiers()
    assert find(here, row, list(range(50))).length == 40
    assert not list(tmp_path.glob(".half*"))
    assert not list(tmp_path.glob("orphan*"))
