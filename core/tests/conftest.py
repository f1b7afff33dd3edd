"""Distributions made on the spot: a folder that stands for site-packages."""

import sys
from textwrap import dedent

import pytest

BOUND = ("mlxp-core>=0.1,<0.2",)


class Site:
    """Holds fake installed distributions; ``path`` is what ``load_plugins`` searches."""

    def __init__(self, folder):
        self.folder = folder
        self.path = [str(folder)]
        self.modules = []

    def add(self, dist, plugins, *, requires=BOUND, version="1.0"):
        """Install a distribution; ``plugins`` maps an entry-point name to the source of its module."""
        home = self.folder / f"{dist.replace('-', '_')}-{version}.dist-info"
        home.mkdir()
        lines = [f"Name: {dist}", f"Version: {version}", *(f"Requires-Dist: {line}" for line in requires)]
        (home / "METADATA").write_text(
            "Metadata-Version: 2.3\n" + "\n".join(lines) + "\n\nRequires-Dist: prose\n"
        )
        points = []
        for name, source in plugins.items():
            module = f"{dist}_{name}".replace("-", "_")
            self.modules.append(module)
            (self.folder / f"{module}.py").write_text(dedent(source))
            points.append(f"{name} = {module}")
        (home / "entry_points.txt").write_text("[mlxp]\n" + "\n".join(points) + "\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An empty site; its modules can be imported and are forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    made = Site(folder)
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)
