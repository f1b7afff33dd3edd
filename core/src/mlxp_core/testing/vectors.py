"""Numbers without a model: what the scripted engine answers to prompts that are to be embedded or looked behind."""

import math
from collections.abc import Sequence

from mlxp_core.engine import Survey

DIMENSIONS = 8
HALVINGS = 40


def sketch_vector(tokens: Sequence[int]) -> tuple[float, ...]:
    """Return how many of these tokens there are of each kind modulo 8, brought to length 1."""
    counts = [sum(token % DIMENSIONS == kind for token in tokens) for kind in range(DIMENSIONS)]
    length = math.hypot(*counts)
    return tuple(count / length for count in counts)


def sketch_survey(tokens: Sequence[int], survey: Survey) -> tuple[float, ...]:
    """Return the survey of a distribution that begins with the prompt's last token and halves from id to id."""
    ids = [(tokens[-1] + step) % 256 for step in range(HALVINGS)]
    scores = [-(step + 1) * math.log(2) for step in range(HALVINGS)]
    places = [int(max(0.0, (1 - score / survey.lowest) * survey.bins)) for score in scores]
    counts = [float(places.count(place)) for place in range(survey.bins)]
    return (*counts, *(float(token) for token in ids[: survey.likeliest]), *scores[: survey.likeliest])
