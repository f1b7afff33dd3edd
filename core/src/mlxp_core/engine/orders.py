"""What the engine is told: orders for answers, messages to its thread, and plans of what to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from mlxp_core.contracts import Constraint, FamilyConfig, ModelFamily
from mlxp_core.errors import MlxpError, Unavailable
from mlxp_core.types import Event, GenerateRequest, KVScheme, Pooling, ShelfAction

if TYPE_CHECKING:
    from mlxp_core.adapters import AdapterFolder, Fitted
    from mlxp_core.loading.eyes import Eyes
    from mlxp_core.loading.folder import ModelFolder
    from mlxp_core.prompting import Prompt
    from mlxp_core.reading.reader import Reader
    from mlxp_core.reading.steering import Thought


class Survey(Struct, frozen=True):
    """What is told of the distribution after a prompt; see ``ForecastRequest``.

    The numbers are the counts of the bins, then the ids of the likeliest tokens, then their log-probabilities.
    """

    bins: int
    lowest: float
    likeliest: int


class Pool(Struct, frozen=True):
    """What makes an order one for numbers: its prompt is read, and nothing is drawn.

    Attributes:
        pooling: how the hidden states become a vector, or what is told of the distribution after them.
        keep: takes the numbers, of a vector with length 1, on the engine thread and before the order's last event.
    """

    pooling: Pooling | Survey
    keep: Callable[[tuple[float, ...]], object]


class Order(Struct, frozen=True, kw_only=True):
    """One choice of one request, ready to run.

    Attributes:
        request: resolved: ``max_tokens`` and ``sampling.seed`` are set.
        prompt: its tokens; the same for all choices of a request.
        reader: this choice's own.
        model: id of the model to run it on, a key of the engine's plans.
        sink: takes the events of a step, on the event-loop thread.
        choice: number among the request's choices; choice ``i`` draws with ``seed + i``.
        protocol: name of the protocol that asked, for the record.
        constraint: holds the answer to a shape; this choice's own.
        thought: what is to be known of thinking; ``None`` = nothing, there is neither a shape nor a budget.
        pool: where numbers are wanted in place of an answer; the last event is then ``Finished("stop")``.
        echo: text of the prompt, where it is to be told.
        adapters: keys of the mounts that it takes, which stay until it has ended. No two mounts ever have one key, so
            this is also what a cache of prompts must keep apart.
    """

    request: GenerateRequest
    prompt: Prompt
    reader: Reader
    model: str
    sink: Callable[[list[Event]], object]
    choice: int = 0
    protocol: str = ""
    constraint: Constraint | None = None
    thought: Thought | None = None
    pool: Pool | None = None
    echo: str = ""
    adapters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what the desk must have settled before.

        Raises:
            ValueError: the request is not resolved, or the prompt is empty.
        """
        if self.request.max_tokens is None or self.request.max_tokens < 1:
            raise ValueError(
                f"order {self.request.id}: max_tokens must be at least 1, not {self.request.max_tokens}"
            )
        if self.request.sampling.seed is None:
            raise ValueError(f"order {self.request.id}: sampling.seed must be set")
        if not self.prompt.tokens:
            raise ValueError(f"order {self.request.id}: the prompt has no tokens")


class LoadPlan(Struct, frozen=True, kw_only=True):
    """How to load one model; carried out on the engine thread.

    Attributes:
        folder: the checkpoint.
        family: who claims it.
        config: what the family made of its config.json.
        eyes: its vision tower, loaded with the first image; ``None`` = it does not see.
        used: ids from this one on are no tokens and never drawn (``Tokenizer.used``); ``None`` = all are.
        dtype: type of the weights, as in ``EngineSettings.dtype``.
        kv: how keys and values are to be kept.
        head: whether the checkpoint's draft head guesses for it.
        draft: a smaller model that does; ``None`` = none.
        spell: token -> its text, for explanations of what the prompt cache did.
        progress: told (done, total) bytes or tensors while loading, on the engine thread.
    """

    folder: ModelFolder
    family: ModelFamily
    config: FamilyConfig
    eyes: Eyes | None = None
    used: int | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    kv: KVScheme = KVScheme()
    head: bool = False
    draft: LoadPlan | None = None
    spell: Callable[[int], str] = str
    progress: Callable[[int, int], object] | None = None


class Submit(Struct, frozen=True):
    """Message: run the choices of one request. ``at_s`` is when it was handed in, on the engine's clock."""

    orders: tuple[Order, ...]
    at_s: float


class Cancel(Struct, frozen=True):
    """Message: end every choice of a request as cancelled."""

    request_id: str


class CancelAll(Struct, frozen=True):
    """Message: nobody listens any more; end every choice."""


class Mount(Struct, frozen=True, kw_only=True):
    """Message: mount an adapter.

    Attributes:
        model: id of the model.
        key: what orders will call it.
        folder: its files, read and checked.
        reply: told what came of it, on the event-loop thread.
        vital: the engine does not begin without it; what is wrong with it ends the thread.
    """

    model: str
    key: str
    folder: AdapterFolder
    reply: Callable[[Fitted | MlxpError], object]
    vital: bool = False


class Unmount(Struct, frozen=True):
    """Message: let go of an adapter as soon as no choice takes it any more; none that comes later does."""

    model: str
    key: str


class Shelve(Struct, frozen=True, kw_only=True):
    """Message: load, unload, pin or let loose a model.

    Attributes:
        reply: told what came of it, on the event-loop thread; ``None`` = it is done.
    """

    model: str
    action: ShelfAction
    reply: Callable[[MlxpError | None], object]


class Close(Struct, frozen=True):
    """Message: take nothing new, and cancel what still runs at ``deadline_s`` on the engine's clock."""

    deadline_s: float


class Lose(Struct, frozen=True):
    """Message: what the engine computes with has gone; end, and tell everybody why."""

    why: Unavailable


Message = Submit | Cancel | CancelAll | Mount | Unmount | Shelve | Close | Lose
