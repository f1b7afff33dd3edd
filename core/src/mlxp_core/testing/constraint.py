"""What every kind of shape must hold to, whoever wrote it.

Subclass ``ConstraintSuite`` and give it your ``kind``, ``bodies`` that it takes, and ``refused`` ones that it does not.
Answers are drawn at random from what the masks allow, over the tokenizer of the sketch.
"""

import json
import random
from collections.abc import Iterator, Sequence

import pytest
from msgspec import Raw

from mlxp_core.contracts import Constraint, ConstraintKind
from mlxp_core.errors import BadRequest
from mlxp_core.loading.sketch_tokenizer import END, TURN_END, sketch_tokenizer
from mlxp_core.prompting import Tokenizer

PADDING = 40
STEPS = 200
WALKS = 5


class ConstraintSuite:
    """The laws of one kind of shape."""

    @pytest.fixture
    def kind(self) -> ConstraintKind:
        """Return the kind under test."""
        raise NotImplementedError("a ConstraintSuite needs a fixture `kind`")

    @pytest.fixture
    def bodies(self) -> Sequence[object | None]:
        """Return bodies of shapes, as plain JSON values; ``None`` = without one."""
        raise NotImplementedError("a ConstraintSuite needs a fixture `bodies`")

    @pytest.fixture
    def refused(self) -> Sequence[object | None]:
        """Return bodies that are none of this kind."""
        raise NotImplementedError("a ConstraintSuite needs a fixture `refused`")

    @pytest.fixture
    def vocabulary(self) -> Tokenizer:
        """Return a tokenizer with markers, all bytes, a few words, and rows of padding behind them."""
        table = sketch_tokenizer()
        size = len(table["model"]["vocab"]) + PADDING
        return Tokenizer(json.dumps(table).encode(), size=size, end_tokens=frozenset({END, TURN_END}))

    def test_what_is_allowed_can_be_taken(
        self, kind: ConstraintKind, bodies: Sequence[object | None], vocabulary: Tokenizer
    ) -> None:
        """A mask is never empty, allows tokens only, and whichever it allows can be drawn."""
        for body in bodies:
            for seed in range(WALKS):
                for allowed, _ in _walk(kind.compile(_raw(body), vocabulary), vocabulary, seed):
                    assert allowed, "a mask must not be empty"
                    assert max(allowed) < vocabulary.used, "padding must not be allowed"

    def test_looking_changes_nothing(
        self, kind: ConstraintKind, bodies: Sequence[object | None], vocabulary: Tokenizer
    ) -> None:
        """A mask may be asked for several times, and answers of one shape know nothing of each other."""
        for body in bodies:
            one, other = (kind.compile(_raw(body), vocabulary) for _ in range(2))
            for allowed, token in _walk(one, vocabulary, 0):
                assert _tokens(other.allowed(), vocabulary) == _tokens(other.allowed(), vocabulary) == allowed
                if token not in vocabulary.end_tokens:
                    other.advance(token)

    def test_what_is_none_of_its_kind_is_refused(
        self, kind: ConstraintKind, refused: Sequence[object | None], vocabulary: Tokenizer
    ) -> None:
        """A body that cannot be held is a ``BadRequest`` with something to read, before anything is drawn."""
        for body in refused:
            with pytest.raises(BadRequest) as caught:
                kind.compile(_raw(body), vocabulary)
            assert caught.value.message


def _raw(body: object | None) -> Raw | None:
    return None if body is None else Raw(json.dumps(body).encode())


def _tokens(mask: bytes, vocabulary: Tokenizer) -> list[int]:
    size = min(vocabulary.size, 8 * len(mask))
    return [token for token in range(size) if mask[token >> 3] >> (token & 7) & 1]


def _walk(rule: Constraint, vocabulary: Tokenizer, seed: int) -> Iterator[tuple[list[int], int]]:
    """Yield what is allowed and what of it is drawn, up to the end or for so long."""
    draw = random.Random(seed)  # noqa: S311  # tokens, not secrets
    for _ in range(STEPS):
        allowed = _tokens(rule.allowed(), vocabulary)
        token = draw.choice(allowed)
        yield allowed, token
        if token in vocabulary.end_tokens:
            return
        rule.advance(token)
