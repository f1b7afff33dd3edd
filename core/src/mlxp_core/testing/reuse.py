"""Rows go on from checkpoints of others as if they had read everything themselves."""

import random
from collections.abc import Sequence

import mlx.core as mx

from mlxp_core.contracts import LanguageModel
from mlxp_core.kv import BatchCache, RowSnapshot
from mlxp_core.promptcache.pieces import Held, snapshots_of, take
from mlxp_core.testing.networks import Session

ROUNDS = 6
MORE = 5
"""Tokens read after a checkpoint, to see whether it is right."""

Known = tuple[tuple[int, ...], Held]


class ReuseLaws:
    """Laws of the prompt cache, for suites with the fixtures ``network``, ``text`` and ``tolerance``."""

    def test_rows_go_on_from_checkpoints_as_if_they_had_read_it_all(
        self, network: LanguageModel, text: list[int], tolerance: float
    ) -> None:
        """Any cuts, any branches, any length that a checkpoint reaches."""
        dice = random.Random(11)  # noqa: S311  # a schedule, not a secret
        known: list[Known] = []
        for _ in range(ROUNDS):
            tokens, session = _begin(network, known, dice)
            while len(tokens) < len(text) - MORE:
                new = _next(text, tokens, dice)
                session.read([new])
                tokens = (*tokens, *new)
                known.append((tokens, take_checkpoint(session.cache, tokens, known)))
        seen = {
            (tokens[:length], place)
            for place, (tokens, held) in enumerate(known)
            for length in range(1, len(tokens) + 1)
            if held.reaches(length)
        }
        for tokens, place in dice.sample(sorted(seen), min(len(seen), 4 * ROUNDS)):
            more = text[:MORE]
            warm = _thawed(network, known[place][1], len(tokens)).read([more])[0]
            cold = Session(network).read([[*tokens, *more]])[0][-MORE:]
            off = mx.abs(warm - cold).max() / mx.abs(cold).max()
            assert off <= tolerance, f"{len(tokens)} tokens of checkpoint {place} are off by {off}"


def take_checkpoint(cache: BatchCache, tokens: Sequence[int], known: Sequence[Known]) -> Held:
    """Take a checkpoint of the only row, building on what is known of its beginning."""
    bases = [(held, _agreed(tokens, others)) for others, held in known]
    return take(
        lambda starts: cache.freeze(0, starts).layers,
        len(tokens),
        cache.reached(0),
        [(held, shared) for held, shared in bases if shared],
    )


def _begin(
    network: LanguageModel, known: Sequence[Known], dice: random.Random
) -> tuple[tuple[int, ...], Session]:
    """Return a new row, or one that goes on from a checkpoint, perhaps from within it."""
    if not known or dice.random() < 0.2:
        return (), Session(network)
    tokens, held = dice.choice(known)
    length = dice.choice([length for length in range(1, len(tokens) + 1) if held.reaches(length)])
    return tokens[:length], _thawed(network, held, length)


def _thawed(network: LanguageModel, held: Held, length: int) -> Session:
    session = Session(network)
    session.cache = session.cache.thaw(RowSnapshot(snapshots_of(held, length), length, length))
    return session


def _next(text: Sequence[int], tokens: Sequence[int], dice: random.Random) -> list[int]:
    """Go on with the text, or leave it for other tokens."""
    count = dice.choice((1, 2, 7, 30))
    rest = text[len(tokens) : len(tokens) + count]
    return list(rest) if dice.random() < 0.7 else dice.sample(text, len(rest))


def _agreed(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
