"""What this plugin brings: ``POST /v1/responses``, its number of tokens, and the responses that are kept."""

import time
import uuid

from mlxp_core import hookimpl
from mlxp_core.contracts import Endpoint, Exchange, Query, Settings, SettingsSection, WireProtocol
from mlxp_core.errors import BadRequest, NotFound
from mlxp_protocols import openai_error
from mlxp_protocols.openai_responses import errors
from mlxp_protocols.openai_responses.decode import ResponsesDecoder
from mlxp_protocols.openai_responses.errors import UnknownPrevious
from mlxp_protocols.openai_responses.fields import FIELDS
from mlxp_protocols.openai_responses.queries import KeptResponses
from mlxp_protocols.openai_responses.settings import ResponsesSettings
from mlxp_protocols.openai_responses.store import ResponseStore
from mlxp_protocols.openai_responses.wire import CountRequest, ResponsesRequest
from mlxp_protocols.openai_responses.wire_answer import Deleted, ItemList, Response, TokenCount

_NAME = "openai-responses"
_ROOT = "/v1/responses"
_ONE = f"{_ROOT}/{{response_id:str}}"


def make_protocol(decoder: ResponsesDecoder, kept: KeptResponses) -> WireProtocol:
    """Return the protocol around a decoder and the answers about what is kept; both share one store."""
    return WireProtocol(
        name=_NAME,
        endpoints=(
            Endpoint(
                path=_ROOT,
                decode=decoder.decode,
                accepts=ResponsesRequest,
                returns=Response,
                summary="Answer, and keep the answer",
            ),
            Exchange(
                path=f"{_ROOT}/input_tokens",
                decode=decoder.count,
                accepts=CountRequest,
                returns=TokenCount,
                summary="Count the tokens that a response would read",
                raises=(UnknownPrevious,),
            ),
            *_queries(kept),
        ),
        render_error=errors.render,
        error=openai_error.ErrorBody,
        fields=FIELDS,
        prefixes=(_ROOT,),
    )


def _queries(kept: KeptResponses) -> tuple[Query, ...]:
    """Return the paths of one kept response."""
    return (
        Query(
            path=_ONE,
            answer=kept.show,
            returns=Response,
            summary="Show a response",
            raises=(BadRequest, NotFound),
        ),
        Query(
            method="DELETE",
            path=_ONE,
            answer=kept.delete,
            returns=Deleted,
            summary="Delete a response",
            raises=(NotFound,),
        ),
        Query(
            path=f"{_ONE}/input_items",
            answer=kept.input_items,
            returns=ItemList,
            summary="List what a response answered",
            raises=(BadRequest, NotFound),
        ),
        Query(
            method="POST",
            path=f"{_ONE}/cancel",
            answer=kept.cancel,
            returns=Response,
            summary="Refused: nothing runs in the background",
            raises=(BadRequest, NotFound),
        ),
    )


@hookimpl
def mlxp_settings_sections() -> list[SettingsSection]:
    """Declare how long responses are kept."""
    return [SettingsSection(name=_NAME, type=ResponsesSettings, summary="How long responses are kept.")]


@hookimpl
def mlxp_protocols(settings: Settings) -> list[WireProtocol]:
    """Return the one protocol."""
    wanted = settings.section(ResponsesSettings)
    store = ResponseStore(keep_s=wanted.keep_s, keep_bytes=wanted.keep_bytes, clock=time.monotonic)
    decoder = ResponsesDecoder(store, new_stem=lambda: uuid.uuid4().hex, now=time.time)
    return [make_protocol(decoder, KeptResponses(store))]
