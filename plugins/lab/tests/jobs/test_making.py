"""What is made is there as a whole or not at all; what was there before is, until then."""

import shutil

import pytest

from mlxp_lab.jobs import JobFailed
from mlxp_lab.jobs.making import SIGNATURE, Signature, making, mend, signed

MINE = Signature(job="job_1", kind="k", attempt=1)


def make(place, content, *, replace=False):
    with making(place, MINE, replace=replace) as fresh:
        (fresh / "file").write_text(content)


def contents(folder):
    return {path.name for path in folder.iterdir()}


def test_it_appears_at_the_end_signed_and_alone(tmp_path):
    place = tmp_path / "deep" / "place"
    with making(place, MINE, replace=False) as fresh:
        (fresh / "file").write_text("x")
        assert not place.exists()
    assert contents(place) == {"file", SIGNATURE}
    assert signed(place) == MINE
    assert contents(place.parent) == {"place"}


def test_a_fault_leaves_nothing(tmp_path):
    with pytest.raises(FileExistsError), making(tmp_path / "place", MINE, replace=True) as fresh:
        fresh.mkdir()  # it is there
    assert contents(tmp_path) == set()


def test_what_is_there_is_kept_unless_it_may_be_replaced(tmp_path):
    make(tmp_path / "place", "old")
    with pytest.raises(JobFailed, match="there already"):
        make(tmp_path / "place", "new")
    make(tmp_path / "place", "new", replace=True)
    assert (tmp_path / "place" / "file").read_text() == "new"
    assert contents(tmp_path) == {"place"}


def test_what_comes_into_being_meanwhile_is_kept(tmp_path):
    with pytest.raises(JobFailed, match="meanwhile"), making(tmp_path / "place", MINE, replace=False):
        (tmp_path / "place").mkdir()
    assert signed(tmp_path / "place") is None


@pytest.mark.parametrize("whole", [True, False])
def test_a_kill_between_the_old_and_the_new_is_mended(tmp_path, whole):
    """With the new one whole it takes the place; else the old one comes back."""
    make(tmp_path / "place", "old")
    make(tmp_path / "other", "new")
    (tmp_path / "place").rename(tmp_path / ".place.job_1.old")
    (tmp_path / "other").rename(tmp_path / ".place.job_1.part")
    if not whole:
        (tmp_path / ".place.job_1.part" / SIGNATURE).unlink()
    mend(tmp_path / "place", "job_1")
    assert (tmp_path / "place" / "file").read_text() == ("new" if whole else "old")
    shutil.rmtree(tmp_path / ".place.job_1.part", ignore_errors=True)
    assert contents(tmp_path) == {"place"}


def test_mending_what_is_whole_changes_nothing(tmp_path):
    make(tmp_path / "place", "x")
    mend(tmp_path / "place", "job_1")
    mend(tmp_path / "nowhere", "job_1")
    assert contents(tmp_path) == {"place"}
