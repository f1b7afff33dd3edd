"""``GET /stats``: the server in numbers, as of the engine's last step."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct, field

from mlxp_core.contracts import Services
from mlxp_core.types import EngineSettings, EngineStats, KVInForce, ModelState, WireRequest, WireResponse
from mlxp_protocols.native.stats_cache import PromptCache, prompt_cache


class Server(Struct, frozen=True, kw_only=True):
    """Which server this is.

    Attributes:
        owner: what started it.
        model: id of the default model.
        state: ``loading``, ``ready``, ``stopping`` or ``lost`` (``fault`` says why).
        started_at: milliseconds since 1970.
        restarts: how often the engine was lost and began again.
    """

    owner: str = "serve"
    version: str
    model: str | None
    state: str
    fault: str | None
    started_at: int
    restarts: int


class Batch(Struct, frozen=True):
    """Rows: how many there may be, and how many are taken."""

    configured: int
    batched: bool
    active_rows: int


class Queue(Struct, frozen=True):
    """Choices in the house; at most ``limit`` wait."""

    limit: int
    waiting: int
    prefilling: int
    running: int


class Timings(Struct, frozen=True):
    """Seconds and speeds of the choices that finished: the first three smoothed, zero until one has; then totals.

    Attributes:
        ttft_s: from submission to the first token.
        tokens_per_s: of one choice, after its first token.
        row_s: how long a choice holds its row.
    """

    ttft_s: float
    tokens_per_s: float
    row_s: float
    queued_s: float
    prefill_s: float
    decode_s: float


class Totals(Struct, frozen=True):
    """Since the start: choices by how they ended, their tokens, and engine steps.

    Attributes:
        guessed_tokens, accepted_tokens: tokens guessed ahead, and those of them that were right.
        read_tokens, drawn_tokens: tokens of prompts read, and tokens drawn, as they come: also of choices that go on.
        host_s: seconds between device steps that the host needed; ``build_s`` of them for building passes.
        device_s: seconds that the host waited for the device. Where they are few, the device waits for the host.
    """

    finished: int
    failed: int
    cancelled: int
    prompt_tokens: int
    completion_tokens: int
    guessed_tokens: int
    accepted_tokens: int
    read_tokens: int
    drawn_tokens: int
    steps: int
    host_s: float
    build_s: float
    device_s: float


class Admission(Struct, frozen=True, kw_only=True):
    """What memory is spent on: what was predicted, and what is measured.

    Attributes:
        max_safe_context: longest context of the default model that fits; ``None`` = nobody counts.
        memory_budget_bytes: as the settings say; ``None`` = they do not.
        usable_bytes: what models may take; 0 = nobody counts.
        weights_bytes: predicted, of the default model and its eyes; of its files, where nobody counts.
        reserved_bytes: predicted, the most that weights and the rows of this moment may come to.
        cache_bytes: measured, of the rows' keys, values and states.
        active_bytes, peak_bytes: measured, of all arrays: now, and at most since the last model was loaded.
    """

    max_safe_context: int | None
    memory_budget_bytes: int | None
    usable_bytes: int
    weights_bytes: int
    reserved_bytes: int
    cache_bytes: int
    active_bytes: int
    peak_bytes: int


class Attention(Struct, frozen=True):
    """Layers that keep keys and values: those that see everything before them, and those that see a window."""

    everything: int = field(name="global")
    sliding_window: int


class KVQuant(Struct, frozen=True):
    """How the default model's keys and values are kept.

    Attributes:
        mode: the setting ``kv_quant``.
        scheme: the storage of every layer.
        layers: storage -> number of layers.
    """

    mode: str
    scheme: str
    layers: Mapping[str, int]
    attention: Attention


class Stats(Struct, frozen=True):
    """All of it; ``kv_quant`` once the default model is loaded, ``prompt_cache`` unless it is switched off."""

    server: Server
    batch: Batch
    queue: Queue
    timings: Timings
    totals: Totals
    admission: Admission
    kv_quant: KVQuant | None
    prompt_cache: PromptCache | None
    models: Mapping[str, ModelState]


def stats(_request: WireRequest, services: Services) -> WireResponse:
    """Show the server in numbers."""
    return WireResponse(body=msgspec.json.encode(gather(services)))


def gather(services: Services) -> Stats:
    """Return the numbers of this moment."""
    now, models = services.stats(), services.catalogue().models
    limits = services.settings.section(EngineSettings)
    return Stats(
        server=Server(
            version=services.version,
            model=models[0].id if models else None,
            state=now.state,
            fault=now.fault,
            started_at=round(services.started_s * 1000),
            restarts=now.restarts,
        ),
        batch=Batch(limits.batch, limits.batch > 1, now.prefilling + now.running),
        queue=Queue(limits.queue, now.waiting, now.prefilling, now.running),
        timings=_timings(now),
        totals=_totals(now),
        admission=_admission(services, now, limits),
        kv_quant=_kv_quant(now.kv.get(models[0].id)) if models else None,
        prompt_cache=prompt_cache(now.prompt_cache),
        models=now.models,
    )


def _admission(services: Services, now: EngineStats, limits: EngineSettings) -> Admission:
    models = services.catalogue().models
    told = services.fit(models[0].id) if models else None
    stored = sum(model.weight_bytes for model in models)
    return Admission(
        max_safe_context=None if told is None else told.context_tokens,
        memory_budget_bytes=None if limits.memory_budget is None else now.budget_bytes,
        usable_bytes=now.budget_bytes,
        weights_bytes=stored if told is None else told.report.weights_bytes,
        reserved_bytes=now.reserved_bytes,
        cache_bytes=now.cache_bytes,
        active_bytes=now.active_bytes,
        peak_bytes=now.peak_bytes,
    )


def _timings(now: EngineStats) -> Timings:
    return Timings(now.ttft_s, now.tokens_per_s, now.pace_s, now.queued_s, now.prefill_s, now.decode_s)


def _kv_quant(kv: KVInForce | None) -> KVQuant | None:
    if kv is None:
        return None
    return KVQuant(kv.mode, kv.scheme, kv.layers, Attention(kv.full, kv.sliding))


def _totals(now: EngineStats) -> Totals:
    return Totals(
        now.finished,
        now.failed,
        now.cancelled,
        now.prompt_tokens,
        now.completion_tokens,
        now.guessed_tokens,
        now.accepted_tokens,
        now.read_tokens,
        now.drawn_tokens,
        now.steps,
        now.host_s,
        now.build_s,
        now.device_s,
    )
