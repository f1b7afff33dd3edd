"""How a folder says that its hidden states are to be pooled."""

import json

import pytest

from mlxp_core.errors import ModelFolderError
from mlxp_core.loading.pooling import PLACE, read_pooling


@pytest.fixture
def say(tmp_path):
    """Write the file, and read what it means."""

    def written(content):
        path = tmp_path / PLACE
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return read_pooling(tmp_path)

    return written


def test_a_folder_that_says_nothing_weighs_by_position(tmp_path):
    assert read_pooling(tmp_path) == "weighted_mean"


@pytest.mark.parametrize(
    ("switch", "pooling"),
    [
        ("pooling_mode_lasttoken", "last"),
        ("pooling_mode_mean_tokens", "mean"),
        ("pooling_mode_weightedmean_tokens", "weighted_mean"),
        ("pooling_mode_cls_token", None),
        ("pooling_mode_max_tokens", None),
    ],
)
def test_the_switch_that_is_on_counts(say, switch, pooling):
    others = {"word_embedding_dimension": 8, "pooling_mode_cls_token": False, "include_prompt": True}
    assert say({**others, switch: True}) == pooling


def test_none_or_several_are_no_way_that_is_made_here(say):
    assert say({"pooling_mode_mean_tokens": False}) is None
    assert say({"pooling_mode_mean_tokens": True, "pooling_mode_lasttoken": True}) is None


@pytest.mark.parametrize("content", ["", "[]", "{", "\x00"])
def test_a_damaged_file_is_named(say, content):
    with pytest.raises(ModelFolderError, match="1_Pooling"):
        say(content)
