"""Whether a sample looks like noise, as bad settings make it."""

import re
import unicodedata

_UNUSED = re.compile(r"<unused\d+>")
_BROKEN = "\ufffd"
_FOREIGN = 0.02
"""Share of letters outside the Latin script from which on a text is suspect; the prompts of a designer are English."""


def is_junk(text: str) -> bool:
    """Return whether a text has letters of other scripts than Latin, broken characters or reserved tokens in it."""
    if _BROKEN in text or _UNUSED.search(text):
        return True
    letters = [char for char in text if char.isalpha()]
    foreign = sum(not _is_latin(char) for char in letters)
    return bool(letters) and foreign >= _FOREIGN * len(letters)


def _is_latin(letter: str) -> bool:
    return letter in "ªºµ" or "LATIN" in unicodedata.name(letter, "")
