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

    One whose first character comes again in it is avoided more strictly, unless it is like ``]]>``: its first two must
    not stand together.
    """
    tails: dict[str, set[str]] = {}
    for text in texts:
        tails.setdefault(text[0], set()).add(text[1:])
    alone = "".join(_escaped(first) for first, behind in tails.items() if "" in behind)
    others = [_apart(first, behind) for first, behind in tails.items() if "" not in behind]
    return [*([f"[^{alone}]*"] if alone else []), *others]


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


def _apart(first: str, tails: set[str]) -> str:
    """Return an expression for texts where ``first`` is followed by none of ``tails``."""
    one = _escaped(first)
    if all(tail[0] == first and first not in tail[1:] and len(tail) == 2 for tail in tails):  # noqa: PLR2004
        last = "".join(_escaped(tail[1]) for tail in sorted(tails))
        return f"(?:[^{one}]|{one}[^{one}]|{one}{{2,}}[^{one}{last}])*{one}*"
    if any(first in tail for tail in tails):
        behind = "".join(_escaped(second) for second in sorted({tail[0] for tail in tails}))
        if first in {tail[0] for tail in tails}:
            return f"(?:[^{one}]|{one}[^{behind}])*{one}?"
        return f"(?:[^{one}]|{one}+[^{one}{behind}])*{one}*"
    begun, failed = _begun(tails), _failed(one, tails)
    return f"(?:[^{one}]|(?:{one}{begun})*{one}{failed})*(?:{one}{begun})*"


def _begun(tails: set[str]) -> str:
    """Return an expression for any beginning of a tail that is not all of it."""
    inner = [_escaped(letter) + _begun(rest) for letter, rest in _by_letter(tails) if "" not in rest]
    return f"(?:{'|'.join(inner)})?" if inner else ""


def _failed(first: str, tails: set[str]) -> str:
    """Return an expression for any beginning of a tail, and a character that it does not go on with."""
    letters = _by_letter(tails)
    others = f"[^{first}{''.join(_escaped(letter) for letter, _ in letters)}]"
    inner = [_escaped(letter) + _failed(first, rest) for letter, rest in letters if "" not in rest]
    return f"(?:{'|'.join([others, *inner])})"


def _by_letter(tails: set[str]) -> list[tuple[str, set[str]]]:
    letters = sorted({tail[0] for tail in tails})
    return [(letter, {tail[1:] for tail in tails if tail[0] == letter}) for letter in letters]


def _escaped(character: str) -> str:
    return character if character.isalnum() else f"\\x{{{ord(character):x}}}"
