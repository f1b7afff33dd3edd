"""The JSON of the list. What was asked and said is nobody's business here: numbers and names only."""

from typing import Literal

from msgspec import Struct

from mlxp_core.types import ReuseCause, RunningRequest


class EndedChoice(Struct, frozen=True, kw_only=True):
    """A choice that has ended.

    Attributes:
        protocol: the API surface that asked; empty if a plugin did.
        ended_at: milliseconds since 1970.
        reason: as in the record; ``failed`` has an ``error``.
        seed: of this choice.
        cached_tokens: of the prompt's, from the prompt cache; ``cause`` says why not more.
        thinking_tokens: of the completion's.
        guessed_tokens, accepted_tokens: guessed ahead, and those of them that were right.
    """

    id: str
    choice: int
    protocol: str
    model: str
    adapters: tuple[str, ...]
    ended_at: int
    reason: str
    error: str | None
    seed: int
    prompt_tokens: int
    cached_tokens: int
    cause: ReuseCause | None
    completion_tokens: int
    thinking_tokens: int
    guessed_tokens: int
    accepted_tokens: int
    queued_s: float
    prefill_s: float
    decode_s: float


class RequestList(Struct, frozen=True, kw_only=True):
    """Requests that have not ended, oldest first, and choices that have, newest first."""

    object: Literal["list"] = "list"
    running: tuple[RunningRequest, ...]
    ended: tuple[EndedChoice, ...]
