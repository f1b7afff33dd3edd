"""What is to be packed how: the modules of a network, and a choice for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from mlxp_lab.quantize.choice import PLAIN_BITS, Choice, fitting, size_bytes

_ROUTERS = re.compile(r"(^|\.)(mlp\.gate|router(\.proj)?|shared_expert_gate)$")
"""Modules that choose experts. They are small, and what they get wrong goes to the wrong expert: 8 bits at least."""

_ROUTER = Choice(8, 64)


class Module(Struct, frozen=True):
    """A module that can be packed.

    Attributes:
        path: in the network.
        shape: of its weight; the last axis is its inputs.
    """

    path: str
    shape: tuple[int, ...]

    @property
    def inputs(self) -> int:
        """Return the length of what it is applied to."""
        return self.shape[-1]

    @property
    def weights(self) -> int:
        """Return how many numbers it has."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def router(self) -> bool:
        """Say whether it chooses experts."""
        return _ROUTERS.search(self.path) is not None


Plan = Mapping[str, Choice | None]
"""Path of a module -> how it is packed; ``None`` = not at all."""


def uniform(modules: Iterable[Module], choice: Choice) -> dict[str, Choice | None]:
    """Return a plan in which all modules are packed alike, as far as their shapes allow; routers with 8 bits."""
    return {module.path: chosen(module, choice) for module in modules}


def chosen(module: Module, choice: Choice) -> Choice | None:
    """Return what a choice for all modules means for one."""
    if not module.router:
        return fitting(choice, module.inputs)
    router = fitting(_ROUTER, module.inputs)
    return choice if router is None and module.inputs % choice.group_size == 0 else router


def bits_per_weight(modules: Sequence[Module], plan: Plan) -> float:
    """Return the mean over all numbers of the modules, scales and biases included; 0 for no module."""
    total = sum(module.weights for module in modules)
    return sum(module.weights * cost(plan[module.path]) for module in modules) / total if total else 0.0


def cost(choice: Choice | None) -> float:
    """Return what one number costs in bits."""
    return PLAIN_BITS if choice is None else choice.bits_per_weight


def plan_bytes(modules: Sequence[Module], plan: Plan) -> int:
    """Return the bytes of all modules."""
    return sum(size_bytes(module.weights, plan[module.path]) for module in modules)
