"""What a misspelt word may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: ``"; did you mean 'x'?"`` when one of ``known`` is near ``word``, else ``"."``."""
    near = get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
