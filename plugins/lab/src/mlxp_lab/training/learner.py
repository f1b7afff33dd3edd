"""One step of learning: gradients of a few passes, their length, and what the optimizer makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import mlx.core as mx
import mlx.optimizers as optim
from mlx import nn
from msgspec import Struct

from mlxp_core.contracts import LanguageModel
from mlxp_lab.training.course import Batch
from mlxp_lab.training.lora import Chance, Numbers, learned, set_learned
from mlxp_lab.training.objectives import Objective
from mlxp_lab.training.parameters import TrainParameters

_STATE = "\0"
"""Stands between a parameter and the name of what the optimizer keeps of it."""


class Stepped(Struct, frozen=True):
    """What came of a step.

    Attributes:
        loss: before it, the mean over its passes.
        grad_norm: length of the gradient, before it was clipped.
        told: further means, by name.
    """

    loss: float
    grad_norm: float
    told: Mapping[str, float]


class Learner:
    """A network with terms, and an optimizer that changes them."""

    def __init__(self, network: LanguageModel, chance: Chance, parameters: TrainParameters) -> None:
        """Prepare to learn.

        Args:
            network: with terms attached.
            chance: of its terms.
            parameters: name optimizer, clip and seed.
        """
        self._network, self._chance, self._parameters = network, chance, parameters
        self._module = cast("nn.Module", network)
        self.optimizer = optimizer_of(parameters)
        self.optimizer.init(self.numbers)

    @property
    def numbers(self) -> Numbers:
        """What is learned, by the path of the parameter."""
        return learned(self._module)

    @numbers.setter
    def numbers(self, numbers: Numbers) -> None:
        set_learned(self._module, numbers)

    def step(self, number: int, rate: float, passes: Sequence[Batch], objective: Objective) -> Stepped:
        """Take one step.

        Args:
            number: of the step, for its dropout.
            rate: how far to go.
            passes: their gradients add up to that of one large pass.
            objective: what is made small.
        """
        total = sum(objective.weight(batch) for batch in passes)
        sums: dict[str, float] = {}
        gradients: Numbers = {}
        before = self.numbers
        for place, batch in enumerate(passes):
            self._chance.draw = f"{self._parameters.seed}/{number}/{place}"
            said, slopes = self._slopes(before, batch, objective, total)
            gradients = {
                path: slope if path not in gradients else gradients[path] + slope
                for path, slope in slopes.items()
            }
            mx.eval(said, gradients)
            for name, value in said.items():
                sums[name] = sums.get(name, 0.0) + _number(value)
        self._chance.draw = None
        norm = self._change(before, gradients, rate)
        return Stepped(sums.pop("loss"), norm, {name: value / total for name, value in sums.items()})

    def evaluated(self, passes: Sequence[Batch], objective: Objective) -> Mapping[str, float]:
        """Return ``loss`` and further means over all passes."""
        sums: dict[str, float] = {}
        total = sum(objective.weight(batch) for batch in passes)
        for batch in passes:
            loss, told = objective.summed(self._network, batch)
            said = {"loss": loss, **told}
            mx.eval(said)
            for name, value in said.items():
                sums[name] = sums.get(name, 0.0) + _number(value) / total
        return sums

    def kept(self) -> Numbers:
        """Return what the optimizer keeps, by names that can be stored."""
        flat: Numbers = {}
        for path, value in self.optimizer.state.items():
            if isinstance(value, dict):
                flat.update({f"{path}{_STATE}{name}": array for name, array in value.items()})
            else:
                flat[path] = value
        return flat

    def restore(self, numbers: Numbers, kept: Numbers) -> None:
        """Go on with what was learned, and with what the optimizer kept."""
        self.numbers = numbers
        state: dict[str, object] = {}
        for name, array in kept.items():
            path, parted, part = name.partition(_STATE)
            if parted:
                cast("dict[str, mx.array]", state.setdefault(path, {}))[part] = array
            else:
                state[path] = array
        self.optimizer.state = state

    def _slopes(
        self, numbers: Numbers, batch: Batch, objective: Objective, total: int
    ) -> tuple[dict[str, mx.array], Numbers]:
        """Return the share of a pass in the loss, with further sums, and the gradient of the former."""

        def loss_of(given: Numbers) -> tuple[mx.array, dict[str, mx.array]]:
            set_learned(self._module, given)
            loss, told = objective.summed(self._network, batch)
            return loss / total, dict(told)

        (loss, told), slopes = mx.value_and_grad(loss_of)(numbers)
        return {"loss": loss, **told}, slopes

    def _change(self, before: Numbers, gradients: Numbers, rate: float) -> float:
        """Change what is learned, and return how long the gradient was."""
        clip = self._parameters.clip
        clipped, norm = optim.clip_grad_norm(gradients, float("inf") if clip is None else clip)
        self.optimizer.learning_rate = rate
        after = self.optimizer.apply_gradients(clipped if clip is not None else gradients, before)
        self.numbers = after
        mx.eval(after, self.optimizer.state, norm)
        return _number(norm)


def optimizer_of(parameters: TrainParameters) -> optim.Optimizer:
    """Return a new optimizer; its rate is set before each step."""
    rate, decay = parameters.rate, parameters.weight_decay
    match parameters.optimizer:
        case "adamw":
            return optim.AdamW(rate, weight_decay=decay, bias_correction=True)
        case "adam":
            return optim.Adam(rate, bias_correction=True)
        case "lion":
            return optim.Lion(rate, weight_decay=decay)
        case "sgd":
            return optim.SGD(rate)


def _number(array: mx.array) -> float:
    value: object = array.item()
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)
