"""Hooks are a promise: arguments are only ever added. The snapshot beside this file is what was promised."""

import ast
from pathlib import Path

SNAPSHOT = Path(__file__).with_name("hooks.txt")


def _hooks(root):
    """Return hook -> one line of its options, arguments and result."""
    tree = ast.parse((root / "core/src/mlxp_core/hookspecs.py").read_text(encoding="utf-8"))
    return {
        node.name: f"@{ast.unparse(node.decorator_list[0])} {node.name}({ast.unparse(node.args)}) "
        f"-> {ast.unparse(node.returns)}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def _arguments(line):
    """Return the name and the arguments of one such line."""
    function = ast.parse(f"def {line.partition(' ')[2]}: ...").body[0]
    return function.name, [argument.arg for argument in function.args.args]


def test_no_hook_and_no_argument_is_taken_away(root):
    now = dict(_arguments(line) for line in _hooks(root).values())
    promised = dict(_arguments(line) for line in SNAPSHOT.read_text(encoding="utf-8").splitlines())
    assert promised.keys() <= now.keys()
    assert {
        name: arguments for name, arguments in promised.items() if not set(arguments) <= set(now[name])
    } == {}


def test_the_snapshot_is_up_to_date(root):
    now = "".join(f"{line}\n" for line in _hooks(root).values())
    assert SNAPSHOT.read_text(encoding="utf-8") == now, (
        f"a hook was added or changed; write this to {SNAPSHOT.name}"
    )
