"""What a fine-tuning goes through: passes to learn from, and passes to evaluate with."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from mlxp_lab.jobs import JobFailed
from mlxp_lab.training.course import Batch, Course, alone, packed
from mlxp_lab.training.examples import Example, Pair, length_of
from mlxp_lab.training.objectives import Answers, Objective, Odds, Preferences
from mlxp_lab.training.parameters import TrainParameters
from mlxp_lab.training.rows import Item, Rows


class Curriculum(Struct, frozen=True, eq=False):
    """Passes, and the method.

    Attributes:
        objective: over the rows to learn from.
        course: passes over them.
        accumulate: passes of a step.
        exam: the method over the held-out rows.
        exam_passes: over them; none where nothing is held out.
    """

    objective: Objective
    course: Course
    accumulate: int
    exam: Objective
    exam_passes: list[Batch]

    @property
    def steps_per_epoch(self) -> float:
        """Return how many steps see every row once."""
        return self.course.passes / self.accumulate

    def passes(self, step: int) -> list[Batch]:
        """Return the passes of a step, from 0 on."""
        places = range(step * self.accumulate, (step + 1) * self.accumulate)
        return [self.course.at(place) for place in places]

    def steps(self, parameters: TrainParameters) -> int:
        """Return how many steps there are to take."""
        if parameters.steps is not None:
            return parameters.steps
        return max(1, math.ceil(parameters.epochs * self.steps_per_epoch))


def curriculum(parameters: TrainParameters, rows: Rows) -> Curriculum:
    """Return what a fine-tuning goes through."""
    train = _course(parameters, rows.train)
    return Curriculum(
        objective=_objective(parameters, rows.train),
        course=train,
        accumulate=parameters.accumulate,
        exam=_objective(parameters, rows.valid),
        exam_passes=_course(parameters, rows.valid).in_order(),
    )


def _course(parameters: TrainParameters, items: Sequence[Item]) -> Course:
    lengths = tuple(map(length_of, items))
    return Course(
        packed(lengths, parameters.max_tokens) if parameters.pack else alone(len(items)),
        lengths,
        rows=parameters.batch_rows,
        seed=parameters.seed,
        buckets=parameters.buckets,
    )


def _objective(parameters: TrainParameters, items: Sequence[Item]) -> Objective:
    pairs = [item for item in items if isinstance(item, Pair)]
    examples = [item for item in items if isinstance(item, Example)]
    if len(pairs if parameters.method != "sft" else examples) != len(items):
        raise JobFailed(f"{parameters.method} cannot learn from all of these rows")
    match parameters.method:
        case "sft":
            return Answers(examples)
        case "dpo":
            return Preferences(pairs, parameters.beta)
        case "orpo":
            return Odds(pairs, parameters.odds_weight)
