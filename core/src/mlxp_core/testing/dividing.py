"""The parts of a divided network compute together what the whole one does.

Ranks are threads here: each builds its network, and where parts meet, the last to come adds them up for all.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import mlx.core as mx
import pytest
from mlx import nn

from mlxp_core.contracts import Division, FamilyConfig, LanguageModel, ModelFamily
from mlxp_core.errors import UnsupportedModel
from mlxp_core.loading.parts import Part
from mlxp_core.loading.shards import read_header
from mlxp_core.loading.slices import Slices
from mlxp_core.ranks.modules import unite
from mlxp_core.testing.networks import Session, load, parameters

RANKS = (2, 4)
PROMPT, STEPS = 24, 4
PATIENCE_S = 60.0


class _Meeting:
    """Where ranks bring their parts, in the same order, and each takes what all have brought."""

    def __init__(self, ranks: int) -> None:
        self._parts: list[mx.array] = [mx.zeros(())] * ranks
        self._all_here = threading.Barrier(ranks, timeout=PATIENCE_S)

    def bring(self, rank: int, part: mx.array) -> list[mx.array]:
        mx.eval(part)
        self._parts[rank] = part
        self._all_here.wait()
        brought = list(self._parts)
        self._all_here.wait()  # nobody brings the next one before all have taken this
        return brought

    def leave(self) -> None:
        """Have nobody wait for a rank that has failed."""
        self._all_here.abort()


class _Seat:
    """The group as one rank sees it; see ``mlxp_core.ranks.group``."""

    def __init__(self, meeting: _Meeting, rank: int) -> None:
        self._meeting, self.rank = meeting, rank

    def sum(self, part: mx.array) -> mx.array:
        first, *others = self._meeting.bring(self.rank, part)
        for other in others:
            first = first + other
        return first

    def gather(self, part: mx.array) -> mx.array:
        return mx.concatenate(self._meeting.bring(self.rank, part), axis=-1)


class DividingLaws:
    """Laws of families that say how their networks are divided."""

    @pytest.mark.parametrize("ranks", RANKS)
    def test_parts_together_are_the_whole(
        self,
        family: ModelFamily,
        config: FamilyConfig,
        network: LanguageModel,
        checkpoint: Mapping[str, mx.array],
        *,
        ranks: int,
        text: list[int],
        tolerance: float,
        tmp_path: Path,
    ) -> None:
        """Each rank reads its part of a checkpoint, and has the logits and greedy tokens of the whole."""
        if family.divide is None:
            pytest.skip("the family's networks are not divided")
        division = _divided(family.divide, config, ranks)
        if isinstance(division, str):
            assert f"among {ranks} ranks" in division
            pytest.skip(f"this one is refused: {division}")
        file = tmp_path / "model.safetensors"
        mx.save_safetensors(str(file), dict(checkpoint))
        expected, said = _played(network, text)
        meeting = _Meeting(ranks)

        def rank(number: int) -> tuple[mx.array, list[int]]:
            try:
                part = _part(family, Part(division, number, ranks), file)
                unite(cast("nn.Module", part), division, _Seat(meeting, number))
                return _played(part, text)
            except BaseException:
                meeting.leave()
                raise

        with ThreadPoolExecutor(ranks) as threads:
            played = [threads.submit(rank, number) for number in range(ranks)]
        faults = [each.exception() for each in played]
        for fault in faults:  # that of a rank which failed by itself
            if fault is not None and not isinstance(fault, threading.BrokenBarrierError):
                raise fault
        for logits, tokens in (each.result() for each in played):
            off = mx.abs(logits - expected).max() / mx.abs(expected).max()
            assert off <= tolerance, f"off by {off} of the largest logit, more than {tolerance}"
            assert tokens == said


def _divided(
    divide: Callable[[FamilyConfig, int], Division], config: FamilyConfig, ranks: int
) -> Division | str:
    """Return how a network is divided, or why it cannot be."""
    try:
        return divide(config, ranks)
    except UnsupportedModel as refusal:
        return refusal.message


def _part(family: ModelFamily, part: Part, file: Path) -> LanguageModel:
    """Return a rank's network with what it reads of a checkpoint, which are just its parameters."""
    tensors = read_header(file)
    names = {name: family.rename(name) for name in tensors}
    weights = Slices(
        {target: part.slice_of(target, tensors[name]) for name, target in names.items() if target is not None}
    )
    if family.convert is not None:
        family.convert(weights, part.division.config)
    network = family.build(part.division.config)
    shapes = {name: value.shape for name, value in parameters(network).items()}
    assert {name: value.shape for name, value in weights.items()} == shapes
    load(network, weights)
    mx.eval(parameters(network))
    return network


def _played(network: LanguageModel, text: list[int]) -> tuple[mx.array, list[int]]:
    session = Session(network)
    logits = session.read([text[:PROMPT]])
    (said,), (last,) = session.greedy(logits, STEPS)
    together = mx.concatenate([logits[0], last[None]])
    mx.eval(together)
    return together, said
