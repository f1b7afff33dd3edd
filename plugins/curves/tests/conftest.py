"""Numbers that the formulas must give."""

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def vectors():
    return json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
