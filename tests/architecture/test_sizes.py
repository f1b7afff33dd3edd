"""A file is one idea: at most 300 lines, a network 600; a function 50, its docstring not counted."""

import ast

FILE, NETWORK, FUNCTION = 300, 600, 50

NETWORKS = {
    # path: why it is read from top to bottom instead of being cut
}
"""Files that may be as long as a network, each with its reason."""

LONG_FUNCTIONS = {
    # path:function: why it is one level of abstraction all the same
}
"""Functions that may be longer, each with its reason."""


def _lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def _functions(path):
    """Yield every function of a file and how many lines it has without its docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) is not None
            docstring = first.end_lineno - first.lineno + 1 if documented else 0
            yield node.name, node.end_lineno - node.lineno + 1 - docstring


def test_no_file_is_too_long(root, sources):
    limits = {path: NETWORK if str(path.relative_to(root)) in NETWORKS else FILE for path in sources}
    long = {str(path): _lines(path) for path in sources if _lines(path) > limits[path]}
    assert long == {}


def test_every_exception_for_a_file_is_still_needed(root):
    assert [path for path in NETWORKS if not (root / path).is_file() or _lines(root / path) <= FILE] == []


def test_no_function_is_too_long(root, sources):
    long = {
        f"{path.relative_to(root)}:{name}": count
        for path in sources
        for name, count in _functions(path)
        if count > FUNCTION
    }
    assert long.keys() == LONG_FUNCTIONS.keys(), long
