"""What this plugin brings: health, models, the service card, plugins, statistics, running requests."""

from mlxp_core import hookimpl
from mlxp_core.contracts import Exchange, Query, WireProtocol
from mlxp_core.errors import BadRequest, Conflict, NotFound, Unavailable, UnknownModel
from mlxp_core.types import Fit, RunningRequest
from mlxp_protocols import openai_error
from mlxp_protocols.native import answers, shelf, wire
from mlxp_protocols.native.fit import fit
from mlxp_protocols.native.stats import Stats, stats

HEALTH = tuple(
    Query(
        path=path,
        answer=answers.health,
        returns=wire.Health,
        summary="Ready to answer?",
        access="open",
        statuses=(503,),
    )
    for path in ("/health", "/readyz")
)

REQUESTS = (
    Query(
        path="/v1/requests/{request_id:str}",
        answer=answers.running,
        returns=RunningRequest,
        summary="Show how far a running request is",
        raises=(NotFound,),
    ),
    Query(
        method="DELETE",
        path="/v1/requests/{request_id:str}",
        answer=answers.cancel,
        returns=wire.Cancelled,
        summary="Stop a running request",
        access="admin",
        raises=(NotFound,),
    ),
    Query(
        method="POST",
        path="/v1/requests/{request_id:str}/cancel",
        answer=answers.cancel,
        returns=wire.Cancelled,
        summary="Stop a running request",
        access="admin",
        raises=(NotFound,),
    ),
)

ENDPOINTS: tuple[Query | Exchange, ...] = (
    *HEALTH,
    Query(
        path="/livez",
        answer=answers.livez,
        returns=wire.Alive,
        summary="Is the process alive?",
        access="open",
    ),
    Query(
        path="/v1",
        answer=answers.service_card,
        returns=wire.ServiceCard,
        summary="What runs here",
    ),
    Query(
        path="/v1/models",
        answer=answers.models,
        returns=wire.ModelList,
        summary="List the models",
    ),
    Query(
        path="/v1/models/{model_id:path}",
        answer=answers.model,
        returns=wire.ModelCard,
        summary="Show a model",
        raises=(UnknownModel,),
    ),
    Exchange(
        path="/v1/models/{model_id:path}",
        decode=shelf.decode,
        returns=wire.ShelvedModel,
        summary="Load, unload, pin or unpin a model: the path ends with /load, /unload, /pin or /unpin",
        access="admin",
        raises=(NotFound, Conflict, UnknownModel),
    ),
    Query(
        path="/v1/plugins",
        answer=answers.plugins,
        returns=wire.PluginList,
        summary="List the plugins",
    ),
    Query(
        path="/v1/settings",
        answer=answers.settings,
        returns=wire.SettingsInForce,
        summary="Show the settings in force, and where each came from",
        access="admin",
    ),
    Query(
        path="/fit",
        answer=fit,
        returns=Fit,
        summary="Show how a model fits this machine",
        raises=(BadRequest, UnknownModel, Unavailable),
    ),
    Query(path="/stats", answer=stats, returns=Stats, summary="Show the server in numbers"),
    *REQUESTS,
)


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol; errors have OpenAI's shape, because its clients ask for models here."""
    return [
        WireProtocol(
            name="native",
            endpoints=ENDPOINTS,
            render_error=openai_error.render,
            error=openai_error.ErrorBody,
            prefixes=("/",),
        )
    ]
