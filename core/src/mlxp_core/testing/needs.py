"""What a family says of its bytes: the laws of ``ModelFamily.need``."""

import mlx.core as mx
import pytest

from mlxp_core.contracts import FamilyConfig, LanguageModel, ModelFamily
from mlxp_core.kv import forward
from mlxp_core.memory import Footprint, footprint
from mlxp_core.testing.networks import Session, parameters
from mlxp_core.types import Machine, Need

FLOAT32_BYTES = 4

WIDTH = 256
"""Tokens of the pass that is measured."""

SPARE_BYTES = 2**20
"""What small arrays may take that nobody counts."""

UNFUSED = Machine(backend="cpu", chip="any", ram_bytes=0, usable_bytes=0)
"""A machine that builds all scores of attention."""


class NeedLaws:
    """Held by ``FamilySuite``."""

    def test_need_is_what_is_measured(
        self, family: ModelFamily, config: FamilyConfig, network: LanguageModel, text: list[int]
    ) -> None:
        """Bytes of weights, and of a row at any length, within two per cent."""
        need = family.need(config, FLOAT32_BYTES)
        weights = sum(value.nbytes for value in parameters(network).values())
        assert need.weights == pytest.approx(weights, rel=0.02)
        assert 0 <= need.idle <= need.weights
        counted, session, length = counted_by(need), Session(network), 0
        for count in (3, 100, 200, 300):
            session.read([(text * 3)[:count]])
            length += count
            assert counted.row(length) == pytest.approx(session.cache.nbytes, rel=0.02), f"{length} tokens"

    def test_a_pass_takes_no_more_than_need_says(
        self, family: ModelFamily, config: FamilyConfig, network: LanguageModel, text: list[int]
    ) -> None:
        """The peak of a chunk; twice as much may pass in a network as small as this."""
        counted, session = counted_by(family.need(config, FLOAT32_BYTES)), Session(network)
        session.read([(text * 3)[:WIDTH]])
        tokens = mx.array([(text * 3)[:WIDTH]], dtype=mx.int32)
        mx.eval(tokens)
        mx.clear_cache()
        before = mx.get_active_memory()
        mx.reset_peak_memory()
        mx.eval(forward(network, session.cache, tokens)[:, -1:])
        peak = mx.get_peak_memory() - before
        allowed = 2 * counted.chunk(WIDTH, 2 * WIDTH) + counted.row(2 * WIDTH) + SPARE_BYTES
        assert peak <= allowed, (
            f"a pass took {peak} bytes, and need allows {allowed}; does Need.passing say all?"
        )


def counted_by(need: Need) -> Footprint:
    """Return what a float32 network takes where nothing is fused."""
    return footprint(need, UNFUSED, weights=need.weights, value_bytes=FLOAT32_BYTES, vocabulary=0)
