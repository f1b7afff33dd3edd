"""How a model fits a machine, as it is told."""

from msgspec import Struct


class Machine(Struct, frozen=True, kw_only=True):
    """What arrays are computed on.

    Attributes:
        backend: ``metal``, ``cuda`` or ``cpu``.
        chip: its name, such as ``M3 Max``.
        ram_bytes: all of its memory; on a CUDA device, the device's own.
        usable_bytes: what models may take by default, the system's and other programs' share aside.
        bandwidth_gbs: 10^9 bytes per second between memory and chip; ``None`` = not known.
    """

    backend: str
    chip: str
    ram_bytes: int
    usable_bytes: int
    bandwidth_gbs: float | None = None


class FitReport(Struct, frozen=True, kw_only=True):
    """How a model fits a budget with ``rows`` answers of ``context_tokens`` each.

    Attributes:
        weights_bytes: the network's, its eyes' and its adapters' parameters.
        kv_bytes: keys, values and states of all rows.
        transient_bytes: what passes allocate and give back, at most.
        max_safe_context: longest context that fits, for each of so many rows; 0 = none.
        predicted_decode_tps: tokens per second of one answer; ``None`` = the bandwidth is not known.
    """

    fits: bool
    rows: int
    context_tokens: int
    weights_bytes: int
    kv_bytes: int
    transient_bytes: int
    total_bytes: int
    usable_bytes: int
    max_safe_context: int
    predicted_decode_tps: float | None


class SkuFit(Struct, frozen=True, kw_only=True):
    """How a model fits one kind of Apple computer."""

    sku: str
    ram_gb: int
    fits: bool
    max_context: int
    decode_tps: float


class MeasuredSpeed(Struct, frozen=True, kw_only=True):
    """How fast a model was on this machine, when somebody tried.

    Attributes:
        decode_tps: tokens per second of one answer.
        prefill_tps: tokens of a prompt per second.
        measured_at: when, in milliseconds since 1970.
    """

    decode_tps: float
    prefill_tps: float
    measured_at: int


class Fit(Struct, frozen=True, kw_only=True):
    """How a model fits this machine, and others.

    Attributes:
        context_tokens: longest context that fits, and that the model reads.
        typical_context_tokens: a usual one, of at most 8192 tokens.
        typical_decode_tps: predicted there.
        measured_decode_tps: of one answer, smoothed, since the start; until one has ended, what was measured last, if
            it was.
        measured_prefill_tps: of a prompt, when that was measured.
        measured_at: when, in milliseconds since 1970.
        sku_matrix: empty unless asked for.
    """

    model: str
    machine: Machine
    context_tokens: int
    typical_context_tokens: int
    typical_decode_tps: float | None
    measured_decode_tps: float | None = None
    measured_prefill_tps: float | None = None
    measured_at: int | None = None
    report: FitReport
    sku_matrix_ctx: int
    sku_matrix: tuple[SkuFit, ...] = ()
