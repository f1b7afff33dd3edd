import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2]
if str(TOOLS) not in sys.path:
    sys.path.insert(0, str(TOOLS))


@pytest.fixture(scope="session")
def folder():
    """Where the recipe of the demo model lies."""
    return TOOLS / "demo_model"
