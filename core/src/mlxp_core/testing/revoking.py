"""Rows go back into a pass as if its last tokens had never been read."""

import random

import mlx.core as mx
import pytest

from mlxp_core.contracts import LanguageModel
from mlxp_core.kv import can_revoke
from mlxp_core.testing.networks import Session

PASSES = 12
WIDEST = 17
"""Tokens of a pass: what a row of sliding layers can always go back by, and one."""


class RevokingLaws:
    """Laws of passes that may be revoked, for suites with the fixtures ``network``, ``text`` and ``tolerance``."""

    @pytest.mark.parametrize("seed", range(3))
    def test_what_was_revoked_was_never_read(
        self, network: LanguageModel, text: list[int], seed: int, tolerance: float
    ) -> None:
        """Ragged passes of rows that keep their first token and any number of others, and go back bit by bit."""
        if not can_revoke(network):
            pytest.skip("a layer of state does not remember its passes: such a network does not speculate")
        dice = random.Random(seed)  # noqa: S311  # a schedule, not a secret
        rows: list[list[int]] = [[], text[:40], text[50:53]]
        session = Session(network)
        for beginning in rows[1:]:
            other = Session(network)
            other.read([beginning])
            session.cache.join(other.cache)
        for _ in range(PASSES):
            width = dice.randint(1, WIDEST)
            new = [dice.choices(text, k=dice.choice((width, dice.randint(0, width)))) for _ in rows]
            session.read(new, revocable=True)
            for place, tokens in enumerate(new):
                kept = dice.randint(min(1, len(tokens)), len(tokens))
                for count in _parts(len(tokens) - kept, dice):
                    assert session.cache.trim(place, count)
                rows[place] += tokens[:kept]
            assert session.cache.lengths == [len(row) for row in rows]
        last = session.read([text[-3:]] * len(rows))
        for tokens, found in zip(rows, last, strict=True):
            expected = Session(network).read([[*tokens, *text[-3:]]])[0][-3:]
            off = mx.abs(found - expected).max() / mx.abs(expected).max()
            assert off <= tolerance, f"a row of {len(tokens)} tokens is off by {off}"

    def test_a_detour_leaves_no_trace(
        self, network: LanguageModel, text: list[int], tolerance: float
    ) -> None:
        """Rows read on token by token, as a drafter does, and are then where they were."""
        session, alone = Session(network), Session(network)
        for one in (session, alone):
            one.read([text[:40]])
            other = Session(network)
            other.read([text[50:53]])
            one.cache.join(other.cache)
        for _ in range(3):
            with session.cache.detour():
                for place in range(WIDEST - 1):
                    session.read([[text[place]], [text[-place]]])
            found, expected = (one.read([text[:5], text[5:7]]) for one in (session, alone))
            assert session.cache.lengths == alone.cache.lengths
            for mine, theirs in zip(found, expected, strict=True):
                off = mx.abs(mine - theirs).max() / mx.abs(theirs).max()
                assert off <= tolerance, f"a row is off by {off}"


def _parts(count: int, dice: random.Random) -> tuple[int, int]:
    first = dice.randint(0, count)
    return first, count - first
