"""What is known about the running server -> answers."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from mlxp_core.contracts import ProtocolReport, Services
from mlxp_core.errors import NotFound, UnknownModel
from mlxp_core.types import Catalogue, ModelInfo, ModelState, WireRequest, WireResponse
from mlxp_protocols.native import wire


def health(_request: WireRequest, services: Services) -> WireResponse:
    """Answer 200 when requests are answered, else 503."""
    stats = services.stats()
    body = wire.Health(status=stats.state, model=_default_model(services.catalogue()), fault=stats.fault)
    return _json(body, 200 if stats.state == "ready" else 503)


def livez(_request: WireRequest, _services: Services) -> WireResponse:
    """Answer 200: the event loop turns."""
    return _json(wire.Alive())


def models(_request: WireRequest, services: Services) -> WireResponse:
    """List the models on offer."""
    catalogue, states = services.catalogue(), services.stats().models
    return _json(wire.ModelList(data=tuple(_card(model, catalogue, states) for model in catalogue.models)))


def model(request: WireRequest, services: Services) -> WireResponse:
    """Show one model, by its id or an alias; ids may hold slashes.

    Raises:
        UnknownModel: there is none of that name.
    """
    asked = request.params["model_id"].removeprefix("/")
    catalogue = services.catalogue()
    wanted = catalogue.aliases.get(asked, asked)
    for info in catalogue.models:
        if info.id == wanted:
            return _json(_card(info, catalogue, services.stats().models))
    offered = ", ".join(info.id for info in catalogue.models) or "none"
    raise UnknownModel(f"model {asked!r} is not on offer; offered: {offered}", param="model")


def service_card(_request: WireRequest, services: Services) -> WireResponse:
    """Say what runs here and which request fields are honoured."""
    reports = services.protocols()
    body = wire.ServiceCard(
        version=services.version,
        model=_default_model(services.catalogue()),
        endpoints=tuple(sorted({path for report in reports for path in report.paths})),
        protocols={report.name: report for report in reports},
        models={model.id: _sheet(model, reports) for model in services.catalogue().models},
    )
    return _json(body)


def plugins(_request: WireRequest, services: Services) -> WireResponse:
    """List the plugins."""
    return _json(wire.PluginList(services.plugins()))


def settings(_request: WireRequest, services: Services) -> WireResponse:
    """Show the settings; never secrets."""
    return _json(wire.SettingsInForce(services.settings.in_force()))


def running(request: WireRequest, services: Services) -> WireResponse:
    """Show how far a running request is.

    Raises:
        NotFound: no request of that id is running.
    """
    request_id = request.params["request_id"]
    found = services.running(request_id)
    if found is None:
        raise _not_running(request_id)
    return _json(found)


def cancel(request: WireRequest, services: Services) -> WireResponse:
    """Stop a running request; its answer ends as usual, with what was said so far.

    Raises:
        NotFound: no request of that id is running.
    """
    request_id = request.params["request_id"]
    if not services.cancel(request_id):
        raise _not_running(request_id)
    return _json(wire.Cancelled(id=request_id))


def _default_model(catalogue: Catalogue) -> str | None:
    return catalogue.models[0].id if catalogue.models else None


def _card(info: ModelInfo, catalogue: Catalogue, states: Mapping[str, ModelState]) -> wire.ModelCard:
    able, state = info.capabilities, states.get(info.id, ModelState())
    return wire.ModelCard(
        id=info.id,
        created=info.created,
        context_window=info.context,
        reasoning=able.thinking,
        vision=able.vision,
        tools=able.tools,
        family=info.family,
        capabilities=able,
        state=state.state,
        pinned=state.pinned,
        aliases=tuple(alias for alias, meant in catalogue.aliases.items() if meant == info.id),
        adapters=tuple(adapter.id for adapter in catalogue.adapters if adapter.model == info.id),
        vocabulary=info.vocabulary,
        weight_bytes=info.weight_bytes,
        defaults=info.defaults,
        usual=catalogue.usual.get(info.id, info.defaults),
    )


def _sheet(info: ModelInfo, reports: Sequence[ProtocolReport]) -> wire.ModelSheet:
    able = msgspec.structs.asdict(info.capabilities)
    lacking = {
        report.name: {name: need for name, need in report.needs.items() if not able[need]}
        for report in reports
    }
    return wire.ModelSheet(
        capabilities=info.capabilities,
        unavailable={name: fields for name, fields in lacking.items() if fields},
    )


def _not_running(request_id: str) -> NotFound:
    return NotFound(f"request {request_id!r} is not running; it has ended, or never was", param="request_id")


def _json(body: Struct, status: int = 200) -> WireResponse:
    return WireResponse(body=msgspec.json.encode(body), status=status)
