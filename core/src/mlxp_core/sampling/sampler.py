"""The sampling state of the rows of one batch: what they asked for, how far they are, what they must remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType

import mlx.core as mx
from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.contracts.sampling import SamplerStage
from mlxp_core.sampling.chain import Chain, plan
from mlxp_core.sampling.draw import Group, groups
from mlxp_core.sampling.mask import forbid
from mlxp_core.sampling.penalties import Adjustment, Bias, Occurrence, Repetition
from mlxp_core.sampling.scores import Scores
from mlxp_core.sampling.stages import Stages
from mlxp_core.sampling.uniforms import uniform
from mlxp_core.types import RawScore, Sampling

_NO_MASKS: Mapping[int, bytes] = MappingProxyType({})


class Drawn(Struct, frozen=True, eq=False):
    """What one step drew; nothing is evaluated yet.

    Attributes:
        tokens: ``[rows]`` int32.
        scores: of the rows that asked, if any did.
    """

    tokens: mx.array
    scores: Scores | None = None

    @property
    def arrays(self) -> tuple[mx.array, ...]:
        """All that must be evaluated before it can be read."""
        return (self.tokens,) if self.scores is None else (self.tokens, self.scores.values, self.scores.ids)

    def read_scores(self, row: int) -> RawScore | None:
        """Return a row's scores, after ``arrays`` are evaluated; ``None`` if it did not ask for any."""
        return None if self.scores is None else self.scores.read(row)


class _Row(Struct):
    """One row: what is done with it, its seed, the step it is at, and how many alternatives to score."""

    chain: Chain
    seed: int
    top_scores: int | None
    step: int = 0


class Sampler:
    """The state of the rows of one batch; see the room's first page for what is done with their logits."""

    def __init__(
        self,
        rows: list[_Row],
        adjustments: Sequence[Adjustment],
        stages: Mapping[str, SamplerStage],
        size: int,
    ) -> None:
        """Hold rows; use ``start``."""
        self._rows = rows
        self._adjustments = tuple(adjustments)
        self._installed = stages
        self._size = size
        self._built: tuple[Stages, list[Group], mx.array | None] | None = None

    @classmethod
    def start(
        cls,
        sampling: Sampling,
        prompt: Sequence[int],
        *,
        vocabulary: int,
        top_scores: int | None,
        stages: Mapping[str, SamplerStage],
        limit: int | None = None,
    ) -> Sampler:
        """Return the state of one row before its first token.

        Args:
            sampling: what is asked; a ``seed`` of ``None`` counts as 0.
            prompt: token ids; the repetition penalty looks at them.
            vocabulary: number of logits.
            top_scores: ``None`` for no scores, else how many alternatives to report.
            stages: the plugin stages installed, by name.
            limit: tokens from this id on are never drawn nor scored: padding rows of the head. All rows of a
                batch must agree on it.

        Raises:
            BadRequest: an unknown stage, settings that do not fit one, a bias on a token that does not exist, or a
                negative repetition penalty.
        """
        size = vocabulary if limit is None else min(limit, vocabulary)
        row = _Row(plan(sampling, stages, size=size), sampling.seed or 0, top_scores)
        adjustments = (
            Bias(sampling.logit_bias, size),
            Repetition(sampling, prompt, size),
            Occurrence(sampling, size),
        )
        return cls([row], adjustments, stages, size)

    def __len__(self) -> int:
        return len(self._rows)

    def join(self, other: Sampler) -> None:
        """Append the rows of ``other``, which is of no further use."""
        offset = len(self._rows)
        for mine, theirs in zip(self._adjustments, other._adjustments, strict=True):
            mine.join(theirs, offset)
        self._rows = self._rows + other._rows
        self._built = None

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        for adjustment in self._adjustments:
            adjustment.keep(rows)
        self._rows = [self._rows[row] for row in rows]
        self._built = None

    def split(self) -> list[Sampler]:
        """Return a sampler for each row alone; this one is of no further use. ``join`` puts them together again."""
        return [self._only(row) for row in range(len(self._rows))]

    def _only(self, row: int) -> Sampler:
        return Sampler([self._rows[row]], self._adjusted([row]), self._installed, self._size)

    def _adjusted(self, rows: Sequence[int]) -> list[Adjustment]:
        adjustments = [copy(adjustment) for adjustment in self._adjustments]  # none changes what it holds
        for adjustment in adjustments:
            adjustment.keep(rows)
        return adjustments

    def ahead(self, guesses: Sequence[Sequence[int]]) -> Sampler:
        """Return a sampler that draws each row's next tokens at once, as if its guesses were drawn one by one.

        It has a row for each draw: the first row's after none of its guesses, after the first of them, and so on to
        all of them; then the second row's. This one stays as it is: tell it what came of it by ``take``.

        Args:
            guesses: for each row of the batch, what is guessed to be drawn; may be nothing.
        """
        draws = [(row, tuple(own[:end])) for row, own in enumerate(guesses) for end in range(len(own) + 1)]
        adjustments = self._adjusted([row for row, _ in draws])
        for adjustment in adjustments:
            adjustment.take([before for _, before in draws])
        rows = [replace(self._rows[row], step=self._rows[row].step + len(before)) for row, before in draws]
        return Sampler(rows, adjustments, self._installed, self._size)

    def take(self, tokens: Sequence[Sequence[int]]) -> None:
        """Move each row on as if these tokens had been drawn for it, one or more."""
        for adjustment in self._adjustments:
            adjustment.take(tokens)
        for row, taken in zip(self._rows, tokens, strict=True):
            row.step += len(taken)

    def draw(self, logits: mx.array, masks: Mapping[int, bytes] = _NO_MASKS) -> Drawn:
        """Draw a token for every row and move every row on by one step; lazy. Where it raises, nothing has moved.

        Args:
            logits: ``[rows, vocabulary]`` of any float type.
            masks: row -> bitmask of the tokens its constraint allows (see ``contracts.constraint``).

        Raises:
            EngineFault: a mask allows no token.
        """
        stages, parts, order = self._build()
        own = logits if logits.shape[-1] == self._size else logits[:, : self._size]
        shaped = own
        active = [adjustment for adjustment in self._adjustments if adjustment.rows]
        if active or stages:
            shaped = shaped.astype(mx.float32)
        for adjustment in active:
            shaped = adjustment.apply(shaped)
        shaped = stages.apply(forbid(shaped, masks))
        drawn = [part.draw(shaped, self._numbers(part)) for part in parts]
        tokens = drawn[0] if order is None else mx.concatenate(drawn)[order]
        for adjustment in active:
            adjustment.observe(tokens)
        for row in self._rows:
            row.step += 1
        wanted = {at: row.top_scores for at, row in enumerate(self._rows) if row.top_scores is not None}
        return Drawn(tokens, Scores(own, tokens, wanted) if wanted else None)

    def _numbers(self, part: Group) -> list[float]:
        if part.route == "greedy":
            return []
        return [uniform(self._rows[row].seed, self._rows[row].step) for row in part.rows.at]

    def _build(self) -> tuple[Stages, list[Group], mx.array | None]:
        """Return what holds until the batch changes: stages, groups, and how to bring their tokens into order."""
        if self._built is None:
            chains = [row.chain for row in self._rows]
            parts = groups(chains)
            place = {row: index for index, row in enumerate(row for part in parts for row in part.rows.at)}
            order = mx.array([place[row] for row in range(len(chains))]) if len(parts) > 1 else None
            self._built = Stages(chains, self._installed), parts, order
        return self._built
