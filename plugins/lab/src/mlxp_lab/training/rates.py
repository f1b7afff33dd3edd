"""The learning rate of each step."""

from __future__ import annotations

import math

from mlxp_lab.training.parameters import TrainParameters


def rate_at(parameters: TrainParameters, step: int, total: int) -> float:
    """Return the learning rate of a step.

    It rises in equal parts through ``warmup_steps`` to its highest, and then falls to ``final_rate`` of that: not at
    all, in a line, or as half a cosine.

    Args:
        parameters: name the schedule.
        step: from 0 on.
        total: steps in all.
    """
    highest, warmup = parameters.rate, parameters.warmup_steps
    if step < warmup:
        return highest * (step + 1) / warmup
    done = (step - warmup) / max(1, total - 1 - warmup)
    match parameters.schedule:
        case "constant":
            share = 1.0
        case "linear":
            share = 1 - done * (1 - parameters.final_rate)
        case "cosine":
            share = parameters.final_rate + (1 - parameters.final_rate) * (1 + math.cos(math.pi * done)) / 2
    return highest * share
