"""What every sampler stage must hold to, whoever wrote it.

Subclass ``SamplerSuite`` and give it your ``stage`` and at least two different ``settings``; if some settings make the
stage do nothing, give them as ``neutral`` too.
"""

from collections.abc import Sequence

import mlx.core as mx
import msgspec
import pytest
from msgspec import Raw, Struct

from mlxp_core.contracts import SamplerStage
from mlxp_core.sampling import check_stages
from mlxp_core.sampling.sampler import Sampler
from mlxp_core.types import Sampling

VOCABULARY = 300
STEPS = 6


def _log_probabilities(rows: int, *, seed: int, scale: float = 4.0) -> mx.array:
    logits = scale * mx.random.normal((rows, VOCABULARY), key=mx.random.key(seed))
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def _hard_rows() -> mx.array:
    """Return rows as they come at the edges: flat, certain, one token left, two left, all but one equal."""
    nothing = mx.full((VOCABULARY,), -mx.inf)
    flat = mx.zeros((VOCABULARY,))
    certain = mx.where(mx.arange(VOCABULARY) == 7, 100.0, 0.0)
    one = mx.where(mx.arange(VOCABULARY) == 8, 0.0, nothing)
    two = mx.where(mx.arange(VOCABULARY) >= VOCABULARY - 2, 0.0, nothing)
    rows = mx.stack([flat, certain, one, two, -certain])
    return rows - mx.logsumexp(rows, axis=-1, keepdims=True)


class SamplerSuite:
    """The laws of one sampler stage."""

    @pytest.fixture
    def stage(self) -> SamplerStage:
        """Return the stage under test."""
        raise NotImplementedError("a SamplerSuite needs a fixture `stage`")

    @pytest.fixture
    def settings(self) -> Sequence[Struct]:
        """Return different settings of the stage, each an instance of ``stage.params``."""
        raise NotImplementedError("a SamplerSuite needs a fixture `settings`")

    @pytest.fixture
    def neutral(self) -> Struct | None:
        """Return settings that change nothing, or ``None`` if there are none."""
        return None

    def test_settings_survive_json(self, stage: SamplerStage, settings: Sequence[Struct]) -> None:
        """A request carries settings as JSON."""
        assert len(settings) >= 2, "give at least two different settings"
        for params in settings:
            sampling = Sampling(stages={stage.name: Raw(msgspec.json.encode(params))})
            assert check_stages(sampling, {stage.name: stage}) == {stage.name: params}

    def test_output_is_like_input(self, stage: SamplerStage, settings: Sequence[Struct]) -> None:
        """The map gives float32 of the same shape and leaves its input alone."""
        rows = _log_probabilities(len(settings), seed=1)
        before = mx.array(rows.tolist())
        out = stage.build(settings)(rows)
        assert out.shape == rows.shape
        assert out.dtype == mx.float32
        assert mx.array_equal(rows, before), "the stage changed its input in place"

    def test_never_not_a_number(self, stage: SamplerStage, settings: Sequence[Struct]) -> None:
        """Nothing is NaN or plus infinity, and every row keeps a token."""
        for params in settings:
            for rows in (
                _hard_rows(),
                _log_probabilities(3, seed=2),
                _log_probabilities(3, seed=3, scale=40),
            ):
                out = stage.build([params] * len(rows))(rows)
                assert not mx.isnan(out).any(), f"{params} makes NaN"
                assert not mx.isposinf(out).any(), f"{params} makes plus infinity"
                assert mx.isfinite(out).any(axis=-1).all(), f"{params} leaves a row without a token"

    def test_masked_stays_masked(self, stage: SamplerStage, settings: Sequence[Struct]) -> None:
        """What is at minus infinity stays there."""
        rows = _log_probabilities(len(settings), seed=4)
        forbidden = mx.random.uniform(shape=rows.shape, key=mx.random.key(5)) < 0.5
        out = stage.build(settings)(mx.where(forbidden, -mx.inf, rows))
        assert mx.where(forbidden, mx.isneginf(out), True).all(), "a forbidden token became possible"

    def test_a_row_depends_on_itself_only(self, stage: SamplerStage, settings: Sequence[Struct]) -> None:
        """Each row of a batch comes out as it would alone, bit for bit."""
        rows = _log_probabilities(len(settings), seed=6)
        together = stage.build(settings)(rows)
        for index, params in enumerate(settings):
            alone = stage.build([params])(rows[index : index + 1])
            assert mx.array_equal(together[index], alone[0]), (
                f"row {index} ({params}) depends on its neighbours"
            )

    def test_neutral_changes_nothing(self, stage: SamplerStage, neutral: Struct | None) -> None:
        """Neutral settings are the identity."""
        if neutral is None:
            pytest.skip("the stage has no neutral settings")
        for rows in (_hard_rows(), _log_probabilities(3, seed=7)):
            out = stage.build([neutral] * len(rows))(rows)
            assert mx.array_equal(mx.isneginf(out), mx.isneginf(rows))
            assert mx.allclose(
                mx.where(mx.isneginf(rows), 0, out), mx.where(mx.isneginf(rows), 0, rows), atol=1e-5
            )

    def test_same_seed_same_tokens(self, stage: SamplerStage, settings: Sequence[Struct]) -> None:
        """A row draws the same tokens again, alone and in a batch."""
        alone = [self._tokens(stage, [params], [index]) for index, params in enumerate(settings)]
        together = self._tokens(stage, settings, range(len(settings)))
        assert alone == [self._tokens(stage, [params], [index]) for index, params in enumerate(settings)]
        assert together == [row for (row,) in alone]

    @staticmethod
    def _tokens(stage: SamplerStage, settings: Sequence[Struct], numbers: Sequence[int]) -> list[list[int]]:
        """Return some tokens of a batch whose row ``i`` has settings ``i`` and the logits of row ``numbers[i]``."""
        samplers = [
            Sampler.start(
                Sampling(temperature=1.0, seed=number, stages={stage.name: Raw(msgspec.json.encode(params))}),
                [],
                vocabulary=VOCABULARY,
                top_scores=None,
                stages={stage.name: stage},
            )
            for params, number in zip(settings, numbers, strict=True)
        ]
        batch = samplers[0]
        for other in samplers[1:]:
            batch.join(other)
        logits = [
            mx.concatenate([_log_probabilities(1, seed=1000 * number + step) for number in numbers])
            for step in range(STEPS)
        ]
        drawn = [batch.draw(rows).tokens.tolist() for rows in logits]
        return [list(tokens) for tokens in zip(*drawn, strict=True)]
