"""Which model a request means."""

from pathlib import Path

import pytest

from mlxp_core.desk.catalogue import check_adapters, choose
from mlxp_core.errors import BadRequest, Unavailable, UnknownModel
from mlxp_core.types import AdapterInfo, Catalogue, ModelInfo


def info(name):
    return ModelInfo(id=name, path=Path(name), family="f", context=9, vocabulary=9, weight_bytes=0)


TWO = Catalogue(models=(info("a"), info("b")), aliases={"small": "b"})


@pytest.mark.parametrize("name", ["", "a", "gpt-4o", "anything/at:all"])
def test_one_model_answers_to_every_name(name):
    assert choose(Catalogue(models=(info("a"),)), name).id == "a"


@pytest.mark.parametrize(("name", "expected"), [("", "a"), ("b", "b"), ("small", "b")])
def test_of_several_the_name_or_alias_decides(name, expected):
    assert choose(TWO, name).id == expected


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(UnknownModel, match=r"'c'.*a, b, small"):
        choose(TWO, "c")


def test_no_model_at_all_is_said():
    with pytest.raises(Unavailable):
        choose(Catalogue(), "a")


def test_an_adapter_that_is_not_mounted_is_refused_by_name():
    mounted = Catalogue(models=(info("a"),), adapters=(AdapterInfo(id="x", path=Path("x")),))
    check_adapters(mounted, ("x",))
    with pytest.raises(BadRequest, match="'y'; mounted: x"):
        check_adapters(mounted, ("x", "y"))
