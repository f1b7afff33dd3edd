"""What models on disk would take is counted as they would be served."""

import pytest

from mlxp_core.cli.selection import set_up_here
from mlxp_core.cli.workbench import Bench
from mlxp_core.loading.sketch import write_sketch

pytestmark = pytest.mark.usefixtures("run")  # its working directory, with no settings about


@pytest.fixture
def folder(tmp_path):
    return write_sketch(tmp_path / "sketch")


@pytest.fixture
def weighed(folder):
    """Return the weights that appraising tells of, run as these settings of the engine say; ``None`` = not known."""

    def weigh(**engine):
        bench = Bench(set_up_here({"engine": engine}, None))
        fitting = bench.appraise(folder).fit
        return None if fitting is None else fitting.weights_bytes

    return weigh


def test_a_model_that_guesses_is_counted_with_each_that_it_guesses_for(weighed, folder):
    alone, beside = weighed(), weighed(draft_model=str(folder))
    assert alone > 0
    assert beside == 2 * alone


def test_nothing_is_told_of_memory_where_what_guesses_cannot_be_read(weighed, folder):
    (folder / "config.json").rename(folder / "gone.json")
    other = write_sketch(folder.parent / "whole")
    assert weighed(draft_model="no/such-model") is None
    assert Bench(set_up_here({"engine": {"draft_model": str(folder)}}, None)).appraise(other).fit is None
