"""What models are called, and which of them stay."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from mlxp_core.desk import line_up
from mlxp_core.errors import SetupError
from mlxp_core.types import ModelsSettings


def opened(name, path=None):
    folder = SimpleNamespace(path=Path(path or name))
    return SimpleNamespace(
        frontend=SimpleNamespace(info=SimpleNamespace(id=name)), plan=SimpleNamespace(folder=folder)
    )


def line(*pairs, **settings):
    return line_up([(ref, opened(name)) for ref, name in pairs], ModelsSettings(**settings))


TWO = (("./big", "owner/big"), ("small", "owner/small"))


def test_the_first_is_the_default_one():
    assert list(line(*TWO).models) == ["owner/big", "owner/small"]


def test_an_alias_may_name_a_model_as_it_was_served_or_by_its_id():
    lineup = line(*TWO, alias=("gpt-4o=./big", "fast=owner/small"))
    assert lineup.aliases == {"gpt-4o": "owner/big", "fast": "owner/small"}


def test_a_pin_may_be_a_reference_an_id_or_an_alias():
    lineup = line(*TWO, alias=("fast=small",), pin=("fast", "owner/big"))
    assert lineup.pinned == {"owner/small", "owner/big"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alias": ("fast",)}, "NAME=MODEL"),
        ({"alias": ("=small",)}, "NAME=MODEL"),
        ({"alias": ("fast=",)}, "NAME=MODEL"),
        ({"alias": ("fast=other",)}, "'other' is not served; served: ./big, small"),
        ({"alias": ("fast=small", "fast=./big")}, "'fast' is a name already"),
        ({"alias": ("owner/small=./big",)}, "'owner/small' is a name already"),
        ({"pin": ("other",)}, "models.pin: 'other' is not served"),
        ({"unload_after_s": 0}, "more than 0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(settings, words):
    with pytest.raises(SetupError) as raised:
        line(*TWO, **settings)
    assert words in raised.value.message


def test_two_models_of_one_name_are_refused_with_their_folders():
    with pytest.raises(SetupError, match=r"two models are called 'x': .*x and .*x"):
        line(("a/x", "x"), ("b/x", "x"))
