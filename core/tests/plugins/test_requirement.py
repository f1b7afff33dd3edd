import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.plugins.requirement import fit

MINORS = st.integers(0, 30)


@given(MINORS, MINORS, st.integers(0, 9))
def test_a_core_inside_the_bounds_fits_and_one_outside_does_not(made_for, running, patch):
    result = fit([f"mlxp-core>=0.{made_for},<0.{made_for + 1}"], f"0.{running}.{patch}")
    assert (result.fault is None) == (made_for == running)


@pytest.mark.parametrize("line", ["mlxp-core==0.1.0", "mlxp_core ~= 0.1.0", "MLXP.core>=0.1,<=0.1.5"])
def test_any_spelling_that_bounds_both_sides_is_silent(line):
    result = fit(["msgspec", line], "0.1.0")
    assert (result.fault, result.warning) == (None, None)


@pytest.mark.parametrize(
    "lines", [[], ["mlxp-core"], ["mlxp-core>=0.1"], ["mlxp-core<0.2"], ["mlxp-core!=0.1.3"]]
)
def test_a_missing_bound_is_a_warning_that_says_what_to_write(lines):
    result = fit(lines, "0.1.0")
    assert result.fault is None
    assert "mlxp-core>=0.1.0,<0.2" in result.warning


def test_bounds_may_come_in_two_lines():
    assert fit(["mlxp-core>=0.1", "mlxp-core<0.2"], "0.1.0").warning is None


def test_the_fault_names_both_versions():
    fault = fit(["mlxp-core>=9,<10"], "0.1.0").fault
    assert "<10" in fault
    assert "this is 0.1.0" in fault


def test_requirements_of_extras_and_other_systems_do_not_count():
    lines = [
        "mlxp-core>=9; extra == 'future'",
        "mlxp-core>=9; sys_platform == 'amiga'",
        "mlxp-core>=0.1,<0.2",
    ]
    assert fit(lines, "0.1.0").fault is None


def test_a_development_version_of_the_core_lies_within_its_bounds():
    assert fit(["mlxp-core>=0.1,<0.2"], "0.1.1.dev3").fault is None


def test_metadata_that_cannot_be_read_is_a_fault():
    assert "cannot be read" in fit(["mlxp-core >> 1"], "0.1.0").fault
