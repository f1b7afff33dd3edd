import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import SettingsError
from mlxp_core.memory import parse_bytes, told


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("512 B", 512),
        ("12GB", 12 * 10**9),
        ("8 GiB", 8 * 2**30),
        ("1.5gb", 1_500_000_000),
        ("2TiB", 2**41),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_bytes(text, "x") == size


@pytest.mark.parametrize("text", ["", "0", "much", "-1GB", "12 gigs", "1,5GB", "GB", "1e9"])
def test_what_is_no_size_is_refused_with_the_name_of_the_setting(text):
    with pytest.raises(SettingsError, match="memory_budget"):
        parse_bytes(text, "memory_budget")


@given(st.integers(1, 10**15))
def test_what_is_told_is_nearly_what_is_meant(size):
    assert parse_bytes(told(size).replace(" bytes", ""), "x") == pytest.approx(size, rel=0.06)
