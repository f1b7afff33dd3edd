"""What ``GET /v1`` may say of a protocol."""

from mlxp_core.contracts import ProtocolReport, WireProtocol


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
