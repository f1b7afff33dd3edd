"""References to models: ``owner/name``, and a revision of it after an ``@``."""

import re

from msgspec import Struct

from mlxp_core.errors import SetupError

MAIN = "main"
"""The revision that is meant when none is named."""

_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_REPO = re.compile(rf"(?P<repo>{_WORD}/{_WORD})(?:@(?P<revision>[^\s@]+))?")


class Ref(Struct, frozen=True):
    """A revision of a model on the hub: a branch, a tag, or the beginning of a commit's hash."""

    repo: str
    revision: str = MAIN

    def __str__(self) -> str:
        return self.repo if self.revision == MAIN else f"{self.repo}@{self.revision}"


def parse(text: str) -> Ref | None:
    """Return the reference that ``text`` is; ``None`` if it is none."""
    found = _REPO.fullmatch(text)
    if found is None or "--" in found["repo"] or ".." in found["repo"]:  # names that the hub refuses
        return None
    return Ref(found["repo"], found["revision"] or MAIN)


def required(text: str) -> Ref:
    """Return the reference that ``text`` is.

    Raises:
        SetupError: it is none.
    """
    ref = parse(text)
    if ref is None:
        raise SetupError(f"{text!r} names no model of the hub; it must be owner/name, or owner/name@revision")
    return ref
