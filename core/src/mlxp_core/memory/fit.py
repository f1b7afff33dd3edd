"""How a model fits: this machine, and others. The formula of the speed is that of a chip that waits for its memory.

tokens per second = bandwidth / (weights that a token visits + keys and values it sees) * efficiency
"""

from __future__ import annotations

from collections.abc import Callable

from mlxp_core.memory.admission import Account, demand, verdict
from mlxp_core.memory.chips import machines
from mlxp_core.memory.footprint import Footprint
from mlxp_core.types import Budget, Fit, FitReport, Machine, SkuFit

DENSE_EFFICIENCY = 0.82
EXPERTS_EFFICIENCY = 0.76
"""Parts of the bandwidth that decoding reaches on Apple's chips, with all weights and with chosen experts."""

TYPICAL_CONTEXT = 8192
SKU_CONTEXT = 32_768

Reckon = Callable[[Machine], Account]
"""What the model takes on a machine: which kernels there are, and how weights are kept, depends on it."""


def decode_speed(bandwidth_gbs: float, weights: float, seen: float, efficiency: float) -> float:
    """Return tokens per second of one answer.

    Args:
        bandwidth_gbs: 10^9 bytes per second.
        weights: bytes of those that a token visits.
        seen: bytes of keys, values and states that it sees.
        efficiency: part of the bandwidth that is reached.
    """
    return bandwidth_gbs * 1e9 / (weights + seen) * efficiency


def predicted_speed(footprint: Footprint, machine: Machine, context: int) -> float | None:
    """Return the tokens per second of one answer at a context; ``None`` = the bandwidth is not known."""
    if machine.bandwidth_gbs is None or not footprint.weights:
        return None
    efficiency = DENSE_EFFICIENCY if footprint.read_share == 1 else EXPERTS_EFFICIENCY
    weights = footprint.weights * footprint.read_share
    return decode_speed(machine.bandwidth_gbs, weights, footprint.row(context), efficiency)


def report(
    account: Account,
    machine: Machine,
    budget: Budget,
    *,
    chunk: int,
    rows: int = 1,
    context: int | None = None,
) -> FitReport:
    """Say how ``rows`` answers of ``context`` tokens fit; of the most tokens that fit, where none is given."""
    footprint = account.footprint
    most = verdict(footprint, budget, 0, chunk=chunk, context=account.context, rows=rows).max_tokens
    tokens = most if context is None else context
    kept = rows * footprint.row(tokens)
    whole = demand(footprint, rows, tokens, chunk=chunk)
    total = footprint.held + whole
    return FitReport(
        fits=0 < tokens <= most,
        rows=rows,
        context_tokens=tokens,
        weights_bytes=footprint.held,
        kv_bytes=kept,
        transient_bytes=whole - kept,
        total_bytes=total,
        usable_bytes=budget.room,
        max_safe_context=most,
        predicted_decode_tps=predicted_speed(footprint, machine, tokens),
    )


def sku_matrix(reckon: Reckon, *, chunk: int, context: int = SKU_CONTEXT) -> tuple[SkuFit, ...]:
    """Say how a model fits each kind of Apple computer, with one answer of ``context`` tokens."""
    return tuple(_sku(reckon(machine), machine, chunk=chunk, context=context) for machine in machines())


def fit(
    model: str,
    reckon: Reckon,
    machine: Machine,
    budget: Budget,
    *,
    chunk: int,
    rows: int = 1,
    context: int | None = None,
    skus: bool = False,
) -> Fit:
    """Say how a model fits this machine, and, where asked, all of Apple's.

    Args:
        model: its id.
        reckon: what it takes on a machine.
        machine: this one.
        budget: of this machine.
        chunk: most tokens of a prompt read at once.
        rows: answers at the same time.
        context: tokens of each; ``None`` = as many as fit.
        skus: whether to fill ``Fit.sku_matrix``.
    """
    account = reckon(machine)
    told = report(account, machine, budget, chunk=chunk, rows=rows, context=context)
    typical = min(TYPICAL_CONTEXT, told.max_safe_context)
    return Fit(
        model=model,
        machine=machine,
        context_tokens=told.max_safe_context,
        typical_context_tokens=typical,
        typical_decode_tps=predicted_speed(account.footprint, machine, typical),
        report=told,
        sku_matrix_ctx=SKU_CONTEXT,
        sku_matrix=sku_matrix(reckon, chunk=chunk) if skus else (),
    )


def _sku(account: Account, machine: Machine, *, chunk: int, context: int) -> SkuFit:
    wanted = min(context, account.context)
    told = report(account, machine, Budget(machine.usable_bytes), chunk=chunk, context=wanted)
    size = machine.ram_bytes // 2**30
    return SkuFit(
        sku=f"{machine.chip} {size} GB",
        ram_gb=size,
        fits=told.fits,
        max_context=told.max_safe_context,
        decode_tps=round(told.predicted_decode_tps or 0.0, 2),
    )
