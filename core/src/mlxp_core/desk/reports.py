"""What is told of protocols, and of how models fit."""

from collections.abc import Callable

from msgspec.structs import replace

from mlxp_core.contracts import ProtocolReport, WireProtocol
from mlxp_core.types import EngineStats, Fit, MeasuredSpeed


def report(protocol: WireProtocol) -> ProtocolReport:
    """Return a protocol's paths and what becomes of its request fields."""
    fields = protocol.fields
    return ProtocolReport(
        name=protocol.name,
        paths=tuple(f"{endpoint.method} {endpoint.path}" for endpoint in protocol.endpoints),
        fields={field.name: field.treatment for field in fields},
        notes={field.name: field.note for field in fields if field.note},
        needs={field.name: field.needs for field in fields if field.needs is not None},
    )


def with_measured(
    told: Fit, stats: EngineStats, now: Callable[[], float], recorded: MeasuredSpeed | None
) -> Fit:
    """Return what is told of a model with what was measured of it.

    Args:
        told: as predicted.
        stats: of the engine, whose own speed wins once there is one.
        now: seconds since 1970.
        recorded: what a plugin has measured, if any has.
    """
    if recorded is not None:
        told = with_recorded(told, recorded)
    if not stats.tokens_per_s:
        return told
    return replace(told, measured_decode_tps=stats.tokens_per_s, measured_at=round(now() * 1000))


def with_recorded(told: Fit, recorded: MeasuredSpeed) -> Fit:
    """Return what is told of a model with what was measured before."""
    return replace(
        told,
        measured_decode_tps=recorded.decode_tps,
        measured_prefill_tps=recorded.prefill_tps,
        measured_at=recorded.measured_at,
    )
