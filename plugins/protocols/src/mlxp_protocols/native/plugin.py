"""What this plugin brings: health, models, the service card, plugins, statistics, cancelling."""

from mlxp_core import hookimpl
from mlxp_core.contracts import Query, WireProtocol
from mlxp_core.types import EngineStats
from mlxp_protocols import openai_error
from mlxp_protocols.native import answers, wire

ENDPOINTS = (
    Query(path="/health", answer=answers.health, returns=wire.Health, summary="Ready to answer?"),
    Query(path="/livez", answer=answers.livez, returns=wire.Alive, summary="Is the process alive?"),
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
    ),
    Query(
        path="/v1/plugins",
        answer=answers.plugins,
        returns=wire.PluginList,
        summary="List the plugins",
    ),
    Query(
        path="/stats",
        answer=answers.stats,
        returns=EngineStats,
        summary="Show the engine's state",
    ),
    Query(
        method="POST",
        path="/v1/requests/{request_id:str}/cancel",
        answer=answers.cancel,
        returns=wire.Cancelled,
        summary="Stop a running request",
    ),
)


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol; errors have OpenAI's shape, because its clients ask for models here."""
    return [
        WireProtocol(
            name="native",
            endpoints=ENDPOINTS,
            render_error=openai_error.render,
            prefixes=("/",),
        )
    ]
