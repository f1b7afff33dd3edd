"""The OpenAPI document: every protocol's paths with the schemas that its endpoints name.

Bodies are decoded by protocols, so Litestar cannot see their types; the document is made from ``accepts`` and
``returns`` and joined to what Litestar says of plugins' own routes. It is served at ``/schema/openapi.json``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin

from mlxp_core import __version__
from mlxp_core.contracts import Endpoint, Exchange, Query, WireProtocol
from mlxp_core.server.request_id import HttpRequest
from mlxp_core.server.responses import responses
from mlxp_core.server.schemas import Schemas

PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")

KEYS: Mapping[str, Mapping[str, str]] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}
"""How a key is sent."""

SECURITY: Sequence[Mapping[str, Sequence[str]]] = [{}, *({name: []} for name in KEYS)]
"""Either of them, or nothing where the server has no keys."""

Document = dict[str, Any]
"""A piece of the document; JSON leaves here."""


def document(protocols: Iterable[WireProtocol]) -> Document:
    """Return ``paths`` and ``components`` for the endpoints of these protocols."""
    pairs = [(protocol, endpoint) for protocol in protocols for endpoint in protocol.endpoints]
    types = {
        kind
        for protocol, endpoint in pairs
        for kind in (endpoint.accepts, endpoint.returns, protocol.error)
        if kind is not None
    }
    ordered = sorted(types, key=lambda kind: (kind.__qualname__, kind.__module__))
    schemas = Schemas(ordered)
    paths: Document = {}
    for protocol, endpoint in pairs:
        item = paths.setdefault(PARAMETER.sub(r"{\1}", endpoint.path), {})
        item[endpoint.method.lower()] = _operation(protocol, endpoint, schemas)
    return {"paths": paths, "components": {"schemas": schemas.components}}


def config(protocols: Iterable[WireProtocol]) -> OpenAPIConfig:
    """Return Litestar's configuration with our document joined in."""
    return OpenAPIConfig(
        title="mlxp",
        version=__version__,
        path="/schema",
        render_plugins=[_Joined(tuple(protocols))],
    )


class _Joined(OpenAPIRenderPlugin):
    """Renders Litestar's document together with ours."""

    def __init__(self, protocols: tuple[WireProtocol, ...]) -> None:
        super().__init__(path="/openapi.json", media_type="application/json")  # type: ignore[arg-type]  # any media type works
        self._protocols = protocols

    def render(self, request: HttpRequest, openapi_schema: Document) -> bytes:
        """Return the document as JSON."""
        ours = document(self._protocols)
        theirs = openapi_schema.get("components", {})
        schemas = {**theirs.get("schemas", {}), **ours["components"]["schemas"]}
        joined = {
            **openapi_schema,
            "paths": {**openapi_schema.get("paths", {}), **ours["paths"]},
            "components": {**theirs, "schemas": schemas, "securitySchemes": KEYS},
        }
        return self.render_json(request, joined)


def _operation(protocol: WireProtocol, endpoint: Endpoint | Exchange | Query, schemas: Schemas) -> Document:
    words = [word for word in re.split(r"\W+", PARAMETER.sub(r"by_\1", endpoint.path)) if word]
    operation: Document = {
        "operationId": "_".join([endpoint.method.lower(), *words]),
        "summary": endpoint.summary,
        "tags": [protocol.name],
        "responses": responses(protocol, endpoint, schemas),
        "security": [] if endpoint.access == "open" else SECURITY,
    }
    if names := PARAMETER.findall(endpoint.path):
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if endpoint.accepts is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas.of(endpoint.accepts)}},
        }
    return operation
