"""From a name, or none, to a folder."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mlxp_core.errors import SetupError
from mlxp_core.types import Appraisal, FitReport
from mlxp_hub.resolve import SHARE, choose, resolve

USABLE = 100_000


def model(kind, size):
    return {
        "config.json": b'{"model_type": "%s"}' % kind.encode(),
        "tokenizer.json": b"{}",
        "model.safetensors": bytes(size),
    }


def fitting(total, usable=USABLE):
    return FitReport(
        fits=total <= usable,
        rows=1,
        context_tokens=8192,
        weights_bytes=total,
        kv_bytes=0,
        transient_bytes=0,
        total_bytes=total,
        usable_bytes=usable,
        max_safe_context=0,
        predicted_decode_tps=None,
    )


@pytest.fixture
def appraise():
    """Appraise folders by what their weights take; families are called as their models' types."""

    def make(usable=USABLE):
        def look(path):
            size = (path / "model.safetensors").stat().st_size
            known = b"strange" not in (path / "config.json").read_bytes()
            fit = None if usable is None else fitting(size, usable)
            fault = None if known else "no plugin claims it"
            return Appraisal(name="m", family="f" if known else None, fault=fault, fit=fit)

        return look

    return make


def test_a_name_becomes_a_folder(put, settings):
    path = put("o/n", model("tiny", 9))
    assert resolve("o/n", settings) == resolve("tiny", settings) == path


@pytest.mark.parametrize("text", ["nobody", "./o/n", "/o/n"])
def test_what_is_no_name_of_the_hub_is_left_to_others(settings, text):
    assert resolve(text, settings) is None


@pytest.mark.parametrize("text", ["o/n", "o/n@v2"])
def test_a_model_that_is_not_here_is_refused_with_the_command_that_fetches_it(settings, text):
    with pytest.raises(SetupError, match=f"mlxp get {text}$"):
        resolve(text, settings)


def test_a_model_that_is_not_here_is_fetched_where_the_settings_say_so(hub, settings, sketch, capsys):
    hub.add("o/n", sketch)
    path = resolve("o/n", replace(settings, download=True))
    assert (path / "model.safetensors").read_bytes() == sketch["model.safetensors"]
    assert "complete" in capsys.readouterr().err


def test_where_none_was_named_and_none_is_here_none_is_chosen(settings, appraise):
    assert choose(settings, appraise()) is None


def chosen(settings, look):
    choice = choose(settings, look)
    return None if choice is None else (choice.path.parent.parent.name.rpartition("-")[2], choice.why)


def test_the_largest_that_leaves_room_goes_before_a_larger_one(put, settings, appraise):
    put("o/small", model("a", 1000))
    put("o/roomy", model("b", round(SHARE * USABLE)))
    put("o/tight", model("c", USABLE))
    put("o/over", model("d", USABLE + 1))
    put("o/odd", model("strange", 5000))
    put("o/drafter", model("x_assistant", 6000))
    name, why = chosen(settings, appraise())
    assert name == "roomy"
    assert "leaves room" in why


def test_a_preferred_one_that_fits_goes_first(put, settings, appraise):
    put("o/small", model("a", 1000))
    put("o/tight", model("c", USABLE))
    put("o/over", model("d", USABLE + 1))
    told = replace(settings, prefer=("o/absent", "o/over", "O/Tight", "o/small"))
    assert chosen(told, appraise())[0] == "tight"


def test_a_tight_one_goes_before_none(put, settings, appraise):
    put("o/tight", model("c", USABLE))
    put("o/over", model("d", USABLE + 1))
    assert chosen(settings, appraise())[0] == "tight"


def test_what_does_not_fit_is_never_chosen(put, settings, appraise):
    put("o/over", model("d", USABLE + 1))
    put("o/odd", model("strange", 10))
    assert chosen(settings, appraise()) is None


def test_where_nobody_knows_what_fits_the_smallest_is_chosen(put, settings, appraise):
    put("o/large", model("a", 9000))
    put("o/small", model("b", 1000))
    put("o/odd", model("strange", 10))
    assert chosen(settings, appraise(usable=None))[0] == "small"


def test_paths_are_paths(put, settings, appraise):
    put("o/n", model("a", 10))
    assert isinstance(choose(settings, appraise()).path, Path)
