"""Which model a request means."""

from pathlib import Path

import pytest

from mlxp_core.desk import catalogue
from mlxp_core.desk.catalogue import adapters_of, choose, mounts_of
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


@pytest.mark.parametrize("name", ["", "gpt-4o"])
def test_what_changes_a_model_must_name_it_even_where_there_is_one(name):
    with pytest.raises(UnknownModel):
        catalogue.named(Catalogue(models=(info("a"),)), name)


def test_no_model_at_all_is_said():
    with pytest.raises(Unavailable):
        choose(Catalogue(), "a")


def adapter(name, model="a"):
    return AdapterInfo(id=name, path=Path(name), model=model, key=f"{name}@1")


MOUNTED = Catalogue(models=(info("a"), info("b")), adapters=(adapter("x"), adapter("y"), adapter("z", "b")))


def named(wanted, usual=(), model="a"):
    return [each.id for each in adapters_of(MOUNTED, wanted, usual, info(model))]


def test_adapters_are_those_that_are_named_in_their_order():
    assert named(("y", "x")) == ["y", "x"]
    assert named((), usual=("x",)) == []


def test_a_request_that_names_none_takes_the_usual_ones_of_its_model():
    assert named(None) == []
    assert named(None, usual=("x", "z")) == ["x"]
    assert named(None, usual=("x", "z"), model="b") == ["z"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (("x", "w"), "unknown adapter 'w'; mounted: x, y, z"),
        (("x", "y", "x"), "'x' is named twice"),
        (("z",), "'z' is mounted on b, not on a"),
    ],
)
def test_adapters_that_cannot_be_meant_are_refused_by_name(wanted, told):
    with pytest.raises(BadRequest, match=told) as refused:
        named(wanted)
    assert refused.value.param == "adapters"


def test_an_adapter_that_went_while_a_request_was_prepared_is_not_taken_for_another():
    assert mounts_of(MOUNTED, ("y", "x")) == ("y@1", "x@1")
    with pytest.raises(BadRequest, match="'w' was unmounted"):
        mounts_of(MOUNTED, ("x", "w"))
