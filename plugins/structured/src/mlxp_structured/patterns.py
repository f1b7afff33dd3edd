"""Regular expressions as llguidance wants them: whole matches, without look-around."""

import re
from collections.abc import Iterable, Mapping

_ANYTHING = "(?s:.*)"
_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)


def searched(pattern: str) -> str:
    """Return an expression for texts in which ``pattern`` is found somewhere, as JSON schema means it.

    Anchors at the edges of an alternative are minded; digits and letters are ASCII, as in ECMA 262.
    """
    return "|".join(_anchored(option) for option in _alternatives(pattern))


def avoiding(texts: Iterable[str]) -> list[str]:
    """Return expressions that together match texts with none of these in them.

    They are stricter than that: of a text with several characters, the first two must not occur together.
    """
    seconds: dict[str, set[str]] = {}
    for text in texts:
        seconds.setdefault(text[0], set()).add(text[1:2])
    alone = "".join(_escaped(first) for first, behind in seconds.items() if "" in behind)
    pairs = [_apart(first, behind) for first, behind in seconds.items() if "" not in behind]
    return [*([f"[^{alone}]*"] if alone else []), *pairs]


def literal(text: str) -> str:
    """Return an expression for this very text."""
    return "".join(_escaped(character) for character in text)


def slashed(pattern: str) -> str:
    """Return the expression between slashes, as Lark writes it."""
    escaped = re.sub(
        r"\\.|/|\n", lambda found: _IN_LARK.get(found.group(), found.group()), pattern, flags=re.DOTALL
    )
    return f"/{escaped}/"


_IN_LARK: Mapping[str, str] = {"/": r"\/", "\n": r"\n"}


def _alternatives(pattern: str) -> list[str]:
    """Cut a pattern at the ``|`` that are in no group."""
    depth, begun = 0, 0
    options = []
    for found in _CLASS.finditer(pattern):
        match found.group():
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case "|" if depth == 0:
                options.append(pattern[begun : found.start()])
                begun = found.end()
    return [*options, pattern[begun:]]


def _anchored(option: str) -> str:
    begins = option.startswith("^")
    ends = option.endswith("$") and not re.search(r"(?<!\\)(?:\\\\)*\\\$\Z", option)
    body = option[begins : len(option) - ends]
    return f"(?:{'' if begins else _ANYTHING}(?:{body}){'' if ends else _ANYTHING})"


def _apart(first: str, seconds: set[str]) -> str:
    """Return an expression for texts where ``first`` is followed by none of ``seconds``."""
    one = _escaped(first)
    behind = "".join(_escaped(second) for second in sorted(seconds))
    if first in seconds:
        return f"(?:[^{one}]|{one}[^{behind}])*{one}?"
    return f"(?:[^{one}]|{one}+[^{one}{behind}])*{one}*"


def _escaped(character: str) -> str:
    return character if character.isalnum() else f"\\x{{{ord(character):x}}}"
