"""What the checks of the source tree look at."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root():
    """The folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def sources(root):
    """Every source file of the core and the plugins."""
    return sorted((*root.glob("core/src/**/*.py"), *root.glob("plugins/*/src/**/*.py")))


@pytest.fixture(scope="session")
def plugin_modules(root):
    """The modules that the plugins of the repository name as entry points."""
    modules = []
    for project in sorted(root.glob("plugins/*/pyproject.toml")):
        table = tomllib.loads(project.read_text())
        points = table["project"]["entry-points"]["mlxp"].values()
        modules += [point.partition(":")[0] for point in points]
    return modules
