"""Vectors without a model: what the scripted engine answers to inputs that are to be embedded."""

import math
from collections.abc import Sequence

DIMENSIONS = 8


def sketch_vector(tokens: Sequence[int]) -> tuple[float, ...]:
    """Return how many of these tokens there are of each kind modulo 8, brought to length 1."""
    counts = [sum(token % DIMENSIONS == kind for token in tokens) for kind in range(DIMENSIONS)]
    length = math.hypot(*counts)
    return tuple(count / length for count in counts)
