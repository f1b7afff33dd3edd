"""Which module gets how many bits: a greedy knapsack over measured sensitivities.

All modules begin with the fewest bits. Then the raise with the most benefit for its cost comes first, until the mean
reaches the target. Some rules keep a block from going blind: each has a few modules that are raised in any case, those
at the ends of the network and those that everything passes through rank higher, and no long run of blocks is left with
the fewest bits.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

_BLOCK = re.compile(r"(?:^|\.)layers\.(\d+)\.")
_ATTENTION = frozenset(
    (
        *("q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "wqkv", "Wqkv", "attn_qkv"),
        *("in_proj_qkv", "in_proj_a", "in_proj_b", "in_proj_z", "out_proj"),
    )
)
_PASSED_BY_ALL = ("lm_head", "embed_tokens", "wte", "wpe", "output_proj", "embed_out", "head")
_ROUTER = re.compile(r"(?:^|\.)(?:mlp\.gate|router|router\.proj)$")
_SHARED = re.compile(r"\.shared_experts?\.")

_FULL_ATTENTION = 4
"""Members from which attention counts as complete, so that two of them are raised."""
_PROTECTED_WEIGHT = 100.0
_UNKNOWN_WEIGHT = 10.0
_FALLBACK = 1e6
"""What stands for a sensitivity that came out as no number: its module is in trouble, so it is raised early."""


class Measured(Struct, frozen=True):
    """A module: its path, how much it hurts with so many bits (bits -> sensitivity), and how many numbers it has."""

    path: str
    sensitivity: Mapping[int, float]
    weights: int

    @property
    def block(self) -> int | None:
        """Return the number of its block; ``None`` = it is in none."""
        found = _BLOCK.search(self.path)
        return int(found[1]) if found else None

    @property
    def attention(self) -> bool:
        """Say whether it is of an attention."""
        return self.path.rpartition(".")[2] in _ATTENTION


class Rules(Struct, frozen=True, kw_only=True):
    """How far the allocation goes beyond the plain knapsack.

    Attributes:
        floor: modules that are raised in each block with a complete attention; 1 in others.
        longest_run: most blocks in a row that may be left with the fewest bits.
        protect: blocks at either end that rank higher.
        within: stop below the target, a budget, where the next raise would go beyond it; else never below it.
        overhead: bits a number costs beyond its own, for scales.
        improving: whether more bits count only where they were measured to hurt less. Where sensitivities are against
            the packed model itself, and so 0 for the fewest bits, they count whichever way they go.
    """

    floor: int = 2
    longest_run: int = 3
    protect: int = 1
    within: bool = False
    overhead: float = 0.0
    improving: bool = False


class Allocation(Struct, frozen=True):
    """Path -> bits, in the order of the modules, and the mean over all numbers, overhead included."""

    bits: Mapping[str, int]
    bits_per_weight: float


def allocate(
    modules: Sequence[Measured],
    target: float = 4.0,
    candidates: Sequence[int] = (),
    rules: Rules = Rules(),  # noqa: B008  # frozen
) -> Allocation:
    """Return how many bits each module gets.

    Args:
        modules: as measured.
        target: mean bits of a number.
        candidates: bits to choose from; empty = those that were measured.
        rules: see ``Rules``.
    """
    if not modules:
        return Allocation({}, 0.0)
    steps = sorted(candidates or {bits for module in modules for bits in module.sensitivity}) or [4, 8]
    if len(steps) == 1:
        return _told(modules, {module.path: steps[0] for module in modules}, rules)
    known = {module.path: _known(module, steps) for module in modules}
    bits = {module.path: steps[0] for module in modules}
    for path in _floor(modules, known, rules):
        bits[path] = steps[1]
    _fill(modules, bits, known, steps, target, rules)
    for path in _run_guard(modules, bits, known, steps[0], rules):
        bits[path] = steps[1]
    return _told(modules, bits, rules)


def _told(modules: Sequence[Measured], bits: Mapping[str, int], rules: Rules) -> Allocation:
    return Allocation(dict(bits), _mean(modules, bits) + rules.overhead)


def _mean(modules: Sequence[Measured], bits: Mapping[str, int]) -> float:
    return sum(bits[module.path] * module.weights for module in modules) / sum(m.weights for m in modules)


def _known(module: Measured, steps: Sequence[int]) -> dict[int, float]:
    """Return sensitivities with something in the place of what is no number."""
    told = {bits: module.sensitivity.get(bits, math.nan) for bits in steps}
    finite = [value for value in told.values() if math.isfinite(value)]
    worst = max(finite, default=_FALLBACK) or _FALLBACK
    return {
        bits: value if math.isfinite(value) else worst * _UNKNOWN_WEIGHT * steps[-1] / bits
        for bits, value in told.items()
    }


def _protected(modules: Sequence[Measured], rules: Rules) -> set[str]:
    blocks = sorted({module.block for module in modules if module.block is not None})
    ends = {*blocks[: rules.protect], *blocks[len(blocks) - rules.protect :]} if rules.protect else set()
    return {
        module.path
        for module in modules
        if module.block is None or module.block in ends or _everything_passes(module.path)
    }


def _everything_passes(path: str) -> bool:
    parts = path.lower().split(".")
    named = (
        any(name in parts[-1] or name in parts[-2:] for name in _PASSED_BY_ALL[:-1]) or "head" in parts[-2:]
    )
    return named or _ROUTER.search(path) is not None or _SHARED.search(path) is not None


def _blocks(modules: Sequence[Measured]) -> dict[int, list[Measured]]:
    blocks: defaultdict[int, list[Measured]] = defaultdict(list)
    for module in modules:
        if module.block is not None:
            blocks[module.block].append(module)
    return dict(sorted(blocks.items()))


def _floor(
    modules: Sequence[Measured], known: Mapping[str, Mapping[int, float]], rules: Rules
) -> Iterator[str]:
    """Yield what is raised in each block in any case: the most sensitive of its attention, then of all of it."""
    for members in _blocks(modules).values():
        ranked = sorted(members, key=lambda m: -next(iter(known[m.path].values())))
        attention = [module for module in ranked if module.attention]
        complete = len(attention) >= _FULL_ATTENTION
        quota = rules.floor if complete else min(rules.floor, 1)
        picks = attention[: min(quota, 2 if complete else 1)]
        picks += [module for module in ranked if module not in picks][: quota - len(picks)]
        yield from (module.path for module in picks)


def _fill(
    modules: Sequence[Measured],
    bits: dict[str, int],
    known: Mapping[str, Mapping[int, float]],
    steps: Sequence[int],
    target: float,
    rules: Rules,
) -> None:
    """Raise, best first, until the target is reached."""
    weights = {module.path: module.weights for module in modules}
    total = sum(weights.values())
    spent = sum(bits[path] * weights[path] for path in bits)
    wanted = (target - rules.overhead) * total
    protected = _protected(modules, rules)
    following = dict(pairwise(steps))
    heap: list[tuple[float, str, int, int]] = []

    def offer(path: str) -> None:
        now = bits[path]
        after = following.get(now)
        if after is None:
            return
        worse, better = known[path][now], known[path][after]
        gain = worse - better if rules.improving else abs(worse - better)
        benefit = gain * (_PROTECTED_WEIGHT if path in protected else 1.0)
        if benefit > 0:
            heapq.heappush(heap, (-benefit / max(1, (after - now) * weights[path]), path, now, after))

    for path in bits:
        offer(path)
    while heap and spent < wanted:
        _, path, now, after = heapq.heappop(heap)
        if bits[path] != now:
            continue
        more = (after - now) * weights[path]
        if rules.within and spent + more > wanted:
            continue  # a smaller one may still fit
        bits[path] = after
        spent += more
        offer(path)


def _run_guard(
    modules: Sequence[Measured],
    bits: Mapping[str, int],
    known: Mapping[str, Mapping[int, float]],
    fewest: int,
    rules: Rules,
) -> Iterator[str]:
    """Yield what is raised so that no long run of blocks is left with the fewest bits."""
    run: list[list[Measured]] = []
    for members in [*_blocks(modules).values(), []]:
        low = sum(bits[module.path] == fewest for module in members)
        if members and 2 * low > len(members):
            run.append(members)
            continue
        if len(run) > rules.longest_run:
            for block in run[:: rules.longest_run]:
                lows = [module for module in block if bits[module.path] == fewest]
                yield max(lows, key=lambda m: known[m.path][fewest]).path
        run = []
