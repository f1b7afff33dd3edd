"""What was used and how long it took; for clients, observers and statistics."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from mlxp_core.types.kv import KVInForce
from mlxp_core.types.reuse import PromptCacheStats, Reuse


class Usage(Struct, frozen=True, gc=False):
    """Tokens of one choice.

    Attributes:
        prompt: tokens of the prompt, images and cached ones included.
        cached: prompt tokens that came from the prompt cache.
        completion: every sampled token that counted: thinking, markup and the end token included.
        thinking: completion tokens inside thinking, its markers included.
        guessed: tokens that were guessed ahead.
        accepted: completion tokens that had been guessed.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    thinking: int = 0
    guessed: int = 0
    accepted: int = 0


class Timing(Struct, frozen=True, gc=False):
    """Seconds a choice spent waiting, reading its prompt and generating."""

    queued_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0


class RequestRecord(Struct, frozen=True, kw_only=True):
    """One finished choice, for observers; ``reuse`` says what the prompt cache did for it, if it was asked."""

    request_id: str
    protocol: str
    model: str
    usage: Usage
    timing: Timing
    reason: str
    seed: int = 0
    adapters: tuple[str, ...] = ()
    error: str | None = None
    choice: int = 0
    reuse: Reuse | None = None


class ModelState(Struct, frozen=True, kw_only=True):
    """One model of the engine at one moment.

    Attributes:
        state: ``loaded``, ``loading`` (also: it waits for room), or ``on disk``.
        pinned: it is not unloaded to make room, nor when it is idle.
        loads: how often it was loaded.
        finished, failed, cancelled: choices since the start.
        prompt_tokens, completion_tokens: of those choices.
    """

    state: Literal["loaded", "loading", "on disk"] = "on disk"
    pinned: bool = False
    loads: int = 0
    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class EngineStats(Struct, frozen=True, kw_only=True):
    """The engine at one moment; replaced whole, never mutated.

    Attributes:
        state: ``loading``, ``ready``, ``stopping`` or ``lost`` (the thread died; ``fault`` says why).
        waiting: choices in the queue.
        prefilling: rows whose prompt is being read.
        running: rows in the decode batch.
        restarts: how often the engine was lost and began again; totals go on, what is measured begins anew.
        steps: engine turns so far.
        read_tokens, drawn_tokens: tokens of prompts read, and tokens drawn, in all: as they come, not as choices end.
        cache_bytes: bytes of the rows' caches.
        budget_bytes: what models may take; 0 = nobody counts.
        reserved_bytes: the most that weights and the rows of this moment may come to, by arithmetic.
        active_bytes, peak_bytes: of all arrays, measured: now, and at most since the last model was loaded.
        kv: model that is loaded -> how its keys and values are kept.
        prompt_tokens, completion_tokens: totals since the start.
        guessed_tokens, accepted_tokens: tokens guessed ahead since the start, and those of them that were right.
        finished, failed, cancelled: choices since the start.
        host_s: seconds between device steps that the host needed, in all; ``build_s`` of them for building passes.
        device_s: seconds that the host waited for the device, in all; where they are few, the device waits for it.
        queued_s, prefill_s, decode_s: seconds that the choices that finished spent so, in all.
        pace_s: seconds a choice holds its row, smoothed over those that finished; 0 until one has.
        ttft_s: seconds from the submission of a choice to its first token, smoothed likewise.
        tokens_per_s: speed of one choice after its first token, smoothed likewise.
        prompt_cache: what it holds and did; ``None`` = there is none.
        models: each one on offer.
    """

    state: str = "loading"
    fault: str | None = None
    waiting: int = 0
    prefilling: int = 0
    running: int = 0
    restarts: int = 0
    steps: int = 0
    read_tokens: int = 0
    drawn_tokens: int = 0
    cache_bytes: int = 0
    budget_bytes: int = 0
    reserved_bytes: int = 0
    active_bytes: int = 0
    peak_bytes: int = 0
    kv: Mapping[str, KVInForce] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    guessed_tokens: int = 0
    accepted_tokens: int = 0
    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    host_s: float = 0.0
    build_s: float = 0.0
    device_s: float = 0.0
    queued_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    pace_s: float = 0.0
    ttft_s: float = 0.0
    tokens_per_s: float = 0.0
    prompt_cache: PromptCacheStats | None = None
    models: Mapping[str, ModelState] = field(default_factory=dict)


class ChoiceProgress(Struct, frozen=True, kw_only=True):
    """How far one choice is.

    Attributes:
        state: ``waiting`` for a row, ``prefilling`` (its prompt is being read), ``generating`` or ``ended``.
        prompt: tokens of the prompt; 0 until they are being read.
        read: how many of them are read, cached ones included.
    """

    choice: int
    state: Literal["waiting", "prefilling", "generating", "ended"] = "waiting"
    prompt: int = 0
    read: int = 0


class RunningRequest(Struct, frozen=True, kw_only=True):
    """A request that the engine has and that has not ended.

    Attributes:
        protocol: the API surface that asked; empty if a plugin did.
        model: id of the model.
        age_s: seconds since it was handed to the engine.
        choices: its answers; for embeddings, its inputs.
    """

    id: str
    protocol: str
    model: str
    age_s: float
    choices: tuple[ChoiceProgress, ...]
