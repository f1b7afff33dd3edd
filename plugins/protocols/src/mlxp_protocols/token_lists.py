"""Texts and token ids as OpenAI's older surfaces take them: one or several, in one field."""

from collections.abc import Sequence

from mlxp_core.errors import BadRequest

Prompt = str | tuple[int, ...]


def read_prompts(given: str | Sequence[str | int | list[int]], field: str, hint: str) -> tuple[Prompt, ...]:
    """Return the prompts; a list of numbers is one prompt, a list of anything else as many as it has.

    Args:
        given: not empty.
        field: which field it is, for the error.
        hint: what to send instead.

    Raises:
        BadRequest: the list mixes texts, numbers and lists.
    """
    if isinstance(given, str):
        return (given,)
    texts = [each for each in given if isinstance(each, str)]
    numbers = [each for each in given if isinstance(each, int)]
    lists = [tuple(each) for each in given if isinstance(each, list)]
    if len(given) not in {len(texts), len(numbers), len(lists)}:
        raise BadRequest(f"{field}: a list must be all of one kind; {hint}", param=field)
    return (tuple(numbers),) if numbers else (*texts, *lists)
