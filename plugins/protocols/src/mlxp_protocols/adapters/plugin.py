"""What this plugin brings: ``/v1/adapters``, ``/v1/adapters/available`` and ``/v1/adapters/{id}``.

Mounting reads folders of the server's machine and changes what everybody may ask for, so all but the list of mounted
adapters is for admins.
"""

import uuid

from mlxp_core import hookimpl
from mlxp_core.contracts import Exchange, Query, WireProtocol
from mlxp_core.errors import BadAdapter, Conflict, UnknownAdapter
from mlxp_protocols import openai_error
from mlxp_protocols.adapters import exchange, wire
from mlxp_protocols.adapters.exchange import FIELDS, AdapterDecoder

_ROOT = "/v1/adapters"


def make_protocol(decoder: AdapterDecoder) -> WireProtocol:
    """Return the protocol around a decoder, which holds its source of ids."""
    return WireProtocol(
        name="adapters",
        endpoints=(
            Query(
                path=_ROOT,
                answer=exchange.mounted,
                returns=wire.AdapterList,
                summary="List the mounted adapters",
            ),
            Exchange(
                path=_ROOT,
                decode=decoder.mount,
                accepts=wire.MountBody,
                returns=wire.MountedAdapter,
                summary="Mount an adapter",
                access="admin",
                raises=(BadAdapter, Conflict),
            ),
            Exchange(
                method="GET",
                path=f"{_ROOT}/available",
                decode=decoder.available,
                returns=wire.AvailableList,
                summary="List the adapters on disk",
                access="admin",
            ),
            Exchange(
                method="DELETE",
                path=f"{_ROOT}/{{adapter_id:str}}",
                decode=decoder.unmount,
                returns=wire.RemovedAdapter,
                summary="Unmount an adapter",
                access="admin",
                raises=(UnknownAdapter,),
            ),
        ),
        render_error=openai_error.render,
        error=openai_error.ErrorBody,
        fields=FIELDS,
        prefixes=(_ROOT,),
    )


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    return [make_protocol(AdapterDecoder(lambda: f"adapter-{uuid.uuid4().hex}"))]
