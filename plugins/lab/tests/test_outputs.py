"""What a job makes never takes the place of what it reads, or of what the lab keeps."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlxp_lab.jobs import BadParameters, Site
from mlxp_lab.outputs import output_place

odd = st.sampled_from(
    ["", ".", "..", "~", "~nobody/x", "a\0", "/a\0", "x" * 5000, "/", "a/../..", "lab", "model"]
)
parts = st.lists(st.sampled_from(["lab", "model", "..", ".", "datasets", "new"]), min_size=1, max_size=4)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    site = Site(folder=tmp_path / "lab", settings=None, models=None)
    for folder in (
        site.datasets,
        site.adapters / "mine",
        site.made_models / "made",
        tmp_path / "model" / "deep",
    ):
        folder.mkdir(parents=True)
    (tmp_path / "file").touch()
    return site


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=odd | st.text(max_size=5) | parts.map("/".join))
def test_a_place_is_none_or_holds_nothing_that_is_kept(site, name):
    read = Path("model/deep").resolve()
    with contextlib.suppress(BadParameters):
        place = output_place(name, site.adapters, site, replace=True, reads=[read]).resolve()
        kept = (read, site.datasets, site.adapters, site.made_models, Path.home(), Path.cwd())
        assert not any(path.resolve().is_relative_to(place) for path in kept)


@pytest.mark.parametrize("name", ["", "..", ".", "./lab", "./lab/models", "./model", "model/deep", "./file"])
@pytest.mark.parametrize("replace", [True, False])
def test_what_would_go_with_a_place_is_refused(site, name, replace):
    with pytest.raises(BadParameters) as refused:
        output_place(name, site.adapters, site, replace=replace, reads=[Path("model/deep").resolve()])
    assert refused.value.param == "output"


def test_names_are_at_home_and_paths_are_where_they_lead(site, tmp_path):
    def place(name, *, replace=False):
        return output_place(name, site.adapters, site, replace=replace, reads=[tmp_path / "model"])

    assert place("new") == site.adapters / "new"
    assert place("mine", replace=True) == site.adapters / "mine"
    assert place("./new") == tmp_path / "new"
    assert place("model/deep", replace=True) == tmp_path / "model" / "deep"
    with pytest.raises(BadParameters, match="is there already"):
        place("mine")


def test_only_what_jobs_make_is_replaced(site, tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "letter.txt").touch()
    with pytest.raises(BadParameters, match="neither a model nor an adapter"):
        output_place("./documents", site.adapters, site, replace=True, reads=[])
    (documents / "config.json").touch()
    assert output_place("./documents", site.adapters, site, replace=True, reads=[]) == documents
