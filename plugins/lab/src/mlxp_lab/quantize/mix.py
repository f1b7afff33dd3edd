"""A plan in which modules get different widths: measured, allocated, and tried as a whole before it is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlx import nn
from msgspec import Struct

from mlxp_core.contracts import KVPolicy
from mlxp_lab.quantize.allocate import Measured, Rules, allocate
from mlxp_lab.quantize.choice import Choice, fitting
from mlxp_lab.quantize.measure import Yardstick
from mlxp_lab.quantize.plan import Module, Plan, bits_per_weight, chosen, cost
from mlxp_lab.quantize.sensitivity import Done, Record, Rehearsal, Sensitivities, measure_sensitivities

_NO_RUN = 10**6


class Mix(Struct, frozen=True):
    """A plan, its bits, what it loses on the calibration texts (KL in nats), and what it was made from."""

    plan: dict[str, Choice | None]
    bits_per_weight: float
    kl: float
    sensitivities: Sensitivities


class Stage(Struct, frozen=True, eq=False):
    """A network to try plans on: plain modules, how its keys and values are kept, and what it says when plain."""

    network: nn.Module
    policy: KVPolicy
    rehearsal: Rehearsal
    yardstick: Yardstick

    def kl(self, plan: Plan) -> float:
        """Return what a plan loses; the network stays as planned."""
        self.rehearsal.play(plan)
        return self.yardstick.kl(self.network, self.policy)


def mixed(
    stage: Stage,
    modules: Sequence[Module],
    candidates: Sequence[Choice],
    target: float,
    record: Record,
    done: Done,
) -> Mix:
    """Return the best plan of about ``target`` bits a number that was found.

    Sensitivities of single modules do not quite add up, so three plans are tried on the calibration texts, and the
    one that loses least is taken: by the knapsack with its rules, by the knapsack alone, and, where one is as small,
    all modules alike.

    Args:
        stage: to measure on; is left as some plan has it.
        modules: those of the network.
        candidates: what a module may get, fewest bits first.
        target: mean bits of a number, scales included.
        record: what was measured before.
        done: told after each measurement.
    """
    free = [module for module in modules if not module.router]
    wanted = {module: _fitting(module, candidates) for module in free}
    told = measure_sensitivities(
        stage.rehearsal, stage.yardstick, (stage.network, stage.policy), wanted, record, done
    )
    fixed = {module.path: chosen(module, candidates[-1]) for module in modules if module.router}
    plans = [
        {**_allocated(wanted, told, _left(modules, fixed, free, target), rules), **fixed}
        for rules in (RULES, ALONE)
    ]
    for choice in candidates:
        alike: dict[str, Choice | None] = {module.path: chosen(module, choice) for module in modules}
        if bits_per_weight(modules, alike) <= max(
            target, *(bits_per_weight(modules, plan) for plan in plans)
        ):
            plans.append(alike)
    measured = [(stage.kl(plan), bits_per_weight(modules, plan), plan) for plan in plans]
    kl, bits, plan = min(measured, key=lambda each: each[0])
    return Mix({module.path: plan[module.path] for module in modules}, bits, kl, told)


RULES = Rules(within=True, improving=True)
ALONE = Rules(floor=0, longest_run=_NO_RUN, protect=0, within=True, improving=True)


def _fitting(module: Module, candidates: Sequence[Choice]) -> tuple[Choice, ...]:
    return tuple(each for choice in candidates if (each := fitting(choice, module.inputs)) is not None)


def _left(
    modules: Sequence[Module], fixed: Mapping[str, Choice | None], free: Sequence[Module], target: float
) -> float:
    """Return the target of those that are free, so that all together meet theirs."""
    spent = sum(module.weights * cost(fixed[module.path]) for module in modules if module.path in fixed)
    total, rest = sum(module.weights for module in modules), sum(module.weights for module in free)
    return (target * total - spent) / rest if rest else target


def _allocated(
    wanted: Mapping[Module, Sequence[Choice]], told: Sensitivities, target: float, rules: Rules
) -> dict[str, Choice | None]:
    """Return the knapsack's choices. What scales cost is nearly the same for all; their mean is its overhead."""
    sized = {module: choices for module, choices in wanted.items() if choices}
    total = sum(module.weights for module in sized)
    overhead = sum(m.weights * (c[0].bits_per_weight - c[0].bits) for m, c in sized.items()) / max(1, total)
    measured = [
        Measured(module.path, {c.bits: told[module.path][c.label] for c in choices}, module.weights)
        for module, choices in sized.items()
    ]
    steps = sorted({choice.bits for choices in sized.values() for choice in choices})
    bits = allocate(measured, target, steps, _with(rules, overhead)).bits
    plan: dict[str, Choice | None] = {module.path: None for module in wanted}
    for module, choices in sized.items():
        plan[module.path] = next(choice for choice in choices if choice.bits == bits[module.path])
    return plan


def _with(rules: Rules, overhead: float) -> Rules:
    return Rules(
        floor=rules.floor,
        longest_run=rules.longest_run,
        protect=rules.protect,
        within=rules.within,
        improving=rules.improving,
        overhead=overhead,
    )
