"""What the scheduler asks of the runner, one step a turn, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from mlxp_core.adapters import Fitted
from mlxp_core.engine.hold import Mask
from mlxp_core.engine.orders import Mount, Unmount
from mlxp_core.engine.pulse import Times
from mlxp_core.engine.sequence import Recalled, Sequence
from mlxp_core.errors import MlxpError
from mlxp_core.types import KVInForce, PromptCacheStats, RawScore


class Load(Struct, frozen=True):
    """Put a model on the shelf.

    Attributes:
        room: bytes that the prompt cache may hold from now on; ``None`` = as many as it likes.
    """

    model: str
    room: int | None = None


class Unload(Struct, frozen=True):
    """Take a model off the shelf; no row is of it."""

    model: str


class Recall(Struct, frozen=True):
    """See how much of a prompt is known, before any of it is read.

    Attributes:
        room: as in ``Load``.
        wait: for the disk, if need be; nobody else would have to.
    """

    sequence: Sequence
    room: int | None = None
    wait: bool = True


class Adapt(Struct, frozen=True):
    """Mount an adapter, or let go of one that no row takes; ``room`` as in ``Load``."""

    message: Mount | Unmount
    room: int | None = None


class Prefill(Struct, frozen=True):
    """Read ``count`` tokens of a prompt from ``start`` on; with the last of them, draw the first token.

    Attributes:
        last: the prompt ends with this chunk.
        siblings: choices that will fork from the finished prompt; only with ``last``.
        masks: as in ``Fork``, for the first draw; only with ``last``.
    """

    sequence: Sequence
    start: int
    count: int
    last: bool
    siblings: tuple[Sequence, ...] = ()
    masks: Mapping[int, Mask] = field(default_factory=dict)


class Fork(Struct, frozen=True):
    """Give each row a copy of the prompt that an earlier choice of its request has read, and draw its first token.

    Attributes:
        masks: ``Sequence.key`` -> waits for the tokens allowed.
        room: as in ``Load``.
    """

    rows: tuple[Sequence, ...]
    masks: Mapping[int, Mask] = field(default_factory=dict)
    room: int | None = None


class Decode(Struct, frozen=True):
    """Draw one more token for these rows and no others, and as many further ones as are guessed right.

    Attributes:
        wait: read this step's tokens at once; what the next masks or guesses are depends on them.
        masks: ``Sequence.key`` -> waits for the tokens allowed.
        guesses: ``Sequence.key`` -> what is guessed to be drawn, of rows without a mask; only with ``wait``.
        drafts: ``Sequence.key`` -> how many tokens the model's drafter is to guess for other rows, likewise.
    """

    rows: tuple[Sequence, ...]
    wait: bool = False
    masks: Mapping[int, Mask] = field(default_factory=dict)
    guesses: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    drafts: Mapping[int, int] = field(default_factory=dict)


class Read(Struct, frozen=True):
    """Read what has been drawn and not been read; draw nothing."""


class Rest(Struct, frozen=True):
    """Compute nothing. Like every step, it frees what has ended."""


Step = Load | Unload | Adapt | Recall | Prefill | Fork | Decode | Read | Rest


class Draw(Struct, frozen=True):
    """What was drawn for one row in one step.

    Attributes:
        tokens: one, and before it those of its guesses that were right.
        scores: in step with them, or none at all.
        guessed: how many tokens were guessed.
    """

    sequence: Sequence
    tokens: tuple[int, ...]
    scores: tuple[RawScore, ...] = ()
    guessed: int = 0


Failure = tuple[Sequence, MlxpError]
"""A row that failed alone, and why."""


class Outcome(Struct, frozen=True):
    """What came of a step.

    Attributes:
        draws: tokens read in this step, in general those of the step before it.
        failures: rows that failed alone in this step, unless their ``draws`` end them.
        cache_bytes: bytes of all caches held now.
        times: of a ``Decode`` or a ``Read``, where its time went.
        kv: of a ``Load``, how the model's keys and values are kept.
        recalled: of a ``Recall``, what is known of the prompt.
        prompt_cache: how the prompt cache stands; ``None`` = there is none.
        fitted: of an ``Adapt`` that mounts, what the adapter changes.
        active_bytes: bytes of all arrays after the step.
        peak_bytes: most of them at any time since the last model was loaded.
    """

    draws: tuple[Draw, ...] = ()
    failures: tuple[Failure, ...] = ()
    cache_bytes: int = 0
    times: Times = Times()
    kv: KVInForce | None = None
    recalled: Recalled = Recalled()
    prompt_cache: PromptCacheStats | None = None
    fitted: Fitted | None = None
    active_bytes: int = 0
    peak_bytes: int = 0


class Runner(Protocol):
    """Carries out steps. Frees, first thing in each step, all it holds for sequences that have ended."""

    def run(self, step: Step) -> Outcome:
        """Carry out a step. If it raises, the rows the step was about must be ended before the next one."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...
