"""The pages of hooks, settings and the testing kit say what the code says."""

import ast
import re

import pytest
from msgspec import structs

from mlxp_core.plugins.settings import CORE_SECTIONS


def _documented(root):
    text = (root / "docs" / "plugins" / "hooks.md").read_text(encoding="utf-8")
    return re.findall(r"^### `(.+)`$", text, re.MULTILINE)


def _written(root):
    tree = ast.parse((root / "core/src/mlxp_core/hookspecs.py").read_text(encoding="utf-8"))
    return [
        f"{node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    ]


def test_every_hook_is_on_the_page_with_its_signature_and_in_order(root):
    assert _documented(root) == _written(root)


def test_every_hook_says_when_and_who(root):
    text = (root / "docs" / "plugins" / "hooks.md").read_text(encoding="utf-8")
    sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    silent = [
        section.splitlines()[0]
        for section in sections
        for word in ("When", "Who")
        if f"**{word}.**" not in section
    ]
    assert sections
    assert silent == []


@pytest.mark.parametrize("section", CORE_SECTIONS)
def test_every_setting_of_the_core_is_on_its_page(root, section):
    text = (root / "docs" / "settings.md").read_text(encoding="utf-8")
    table = text.partition(f"### `[{section}]`")[2].partition("\n### ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert listed == [field.encode_name for field in structs.fields(CORE_SECTIONS[section])]


def _suites(root):
    """Return suite -> its laws and the fixtures and methods that must be overridden, in order."""
    suites = {}
    for path in sorted((root / "core/src/mlxp_core/testing").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Suite", "Laws")):
                methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
                laws = [each.name.removeprefix("test_") for each in methods if each.name.startswith("test_")]
                owed = [each.name for each in methods if "raise NotImplementedError" in ast.unparse(each)]
                suites[node.name] = (laws, owed)
    return suites


def test_every_suite_of_the_kit_is_on_its_page_with_all_its_laws(root):
    text = (root / "docs" / "plugins" / "testing.md").read_text(encoding="utf-8")
    listed = {}
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        section = part.partition("\n## ")[0]
        give = section.partition("\nGive: ")[2].partition(".")[0]
        laws = re.findall(r"^- `(\w+)`", section, re.MULTILINE)
        listed[section.partition("`")[2].partition("`")[0]] = (laws, re.findall(r"`(\w+)(?:\(\))?`", give))
    assert listed == _suites(root)
