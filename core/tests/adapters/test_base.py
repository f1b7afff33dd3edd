"""Whether two names mean one base."""

from pathlib import Path

import pytest

from mlxp_core.adapters.base import plain_name, same_base


@pytest.mark.parametrize(
    ("recorded", "model", "same"),
    [
        ("org/Small-1B", "/models/small-1b", True),
        ("org/Small-1B", "/models/Small-1B-4bit", True),
        ("mlx-community/Small-1B-bf16", "/models/Small-1B-MLX-8bit", True),
        ("/cache/models--org--Small-1B/snapshots/0123abc", "/models/small-1b", True),
        ("org/small-1b", "/cache/models--org--Small-1B/snapshots/0123abc", True),
        ("C:\\models\\small-1b", "/models/small-1b", True),
        ("org/Small-2B", "/models/small-1b", False),
        ("org/Small-1B-it", "/models/Small-1B", False),
    ],
)
def test_names_are_compared_without_owner_case_and_storage(recorded, model, same):
    assert same_base(recorded, Path(model)) is same


def test_a_folder_of_the_hubs_cache_becomes_a_name():
    assert plain_name("/home/x/models--Org--Small/snapshots/abc") == "Org/Small"
    assert plain_name("Org/Small") == "Org/Small"
