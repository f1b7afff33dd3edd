import json

import pytest
from msgspec.structs import replace

from mlxp_core.errors import PluginError, UnsupportedModel
from mlxp_core.loading import choose_family, open_folder


def families(*all_of_them):
    return {family.name: family for family in all_of_them}


def test_the_family_that_claims_the_type(opened, pair):
    family, config = choose_family(
        opened, families(pair, replace(pair, name="other", model_types=("other",)))
    )
    assert (family.name, config.vocab_size) == ("pair", 384)


def test_recognize_decides_between_two(opened, pair):
    tagged = replace(pair, name="tagged", recognize=lambda facts: "<function" in facts.special_tokens)
    plain = replace(pair, name="plain", recognize=lambda facts: "<function" not in facts.special_tokens)
    assert choose_family(opened, families(tagged, plain))[0].name == "tagged"


def test_nobody_claims_it(opened, pair):
    with pytest.raises(UnsupportedModel, match=r"'pair'.*installed: alpha, beta"):
        choose_family(opened, families(replace(pair, model_types=("beta", "alpha"))))


def test_no_family_at_all(opened):
    with pytest.raises(UnsupportedModel, match="installed: none"):
        choose_family(opened, {})


def test_known_by_type_but_not_recognized(opened, pair):
    with pytest.raises(UnsupportedModel, match="known to pair, but"):
        choose_family(opened, families(replace(pair, recognize=lambda facts: False)))


def test_two_claims_are_an_error_that_names_both(opened, pair):
    with pytest.raises(PluginError, match="'pair' and 'twin'"):
        choose_family(opened, families(pair, replace(pair, name="twin")))


def test_a_config_that_the_family_cannot_read(folder, pair):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": "wide"}))
    with pytest.raises(UnsupportedModel, match="hidden_size"):
        choose_family(open_folder(folder), families(pair))
