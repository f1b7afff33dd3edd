"""A wire protocol without I/O: bytes to a request, events to bytes."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct, field

from mlxp_core.contracts.services import Services
from mlxp_core.errors import MlxpError
from mlxp_core.types import Answer, Capability, Event, GenerateRequest, Question, WireRequest, WireResponse

A = TypeVar("A", bound=Answer)

Access = Literal["open", "key", "admin"]
"""Who may ask: anybody (health checks); whoever has a key, if there are keys; or, without a key, this machine only.

``admin`` is for what touches other people's requests or the server itself.
"""

ACCESS = "mlxp_access"
"""The same for a Litestar route of a plugin: ``@post("/x", opt={ACCESS: "admin"})``. What is not said is ``key``."""


class Encoder(Protocol):
    """Turns the events of one response into bytes; keeps that response's state and nothing else."""

    streaming: bool
    """Whether bytes are sent as they come; else ``feed`` answers ``b""`` until the last event."""

    media_type: str

    def feed(self, event: Event) -> bytes:
        """Return what to send now; may be ``b""``. With several choices, the last one's end ends the response."""
        ...

    def keep_alive(self) -> bytes:
        """Return bytes that keep a silent connection open, or ``b""``; asked on the wall clock, streams only."""
        ...

    def failure(self) -> WireResponse | None:
        """Return the whole error response if a ``Failed`` came before any byte was sent, else ``None``."""
        ...


class Decoded(Struct, frozen=True):
    """What a body asked for, who answers it, and what was ignored in it.

    Attributes:
        names: what the body calls fields of the request and of its sampling, where it does not call them as we do;
            errors found later name them so.
    """

    request: GenerateRequest
    encoder: Encoder
    warnings: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


class Endpoint(Struct, frozen=True, kw_only=True):
    """A path that makes the engine work. Any fault of the body is a ``BadRequest`` from ``decode``."""

    method: Literal["POST"] = "POST"
    path: str
    decode: Callable[[WireRequest], Decoded]
    accepts: type[Struct]
    returns: type[Struct]
    summary: str
    access: Access = "key"


class Query(Struct, frozen=True, kw_only=True):
    """A path answered at once, from what is known.

    Attributes:
        answer: may raise any error of the tree.
        raises: those that it does raise, for the OpenAPI document.
        statuses: further statuses that come with a ``returns``, as 503 of a health check.
    """

    method: Literal["GET", "POST", "DELETE"] = "GET"
    path: str
    answer: Callable[[WireRequest, Services], WireResponse]
    returns: type[Struct]
    summary: str
    accepts: type[Struct] | None = None
    access: Access = "key"
    raises: tuple[type[MlxpError], ...] = ()
    statuses: tuple[int, ...] = ()


class Exchanged(Struct, Generic[A], frozen=True):
    """What a body asked, how its answer is written, and what was ignored in the body.

    Attributes:
        question: what is asked, such as a ``CountRequest``.
        render: its answer, such as ``Counted``, as a response; status 200.
        names: what the body calls fields of the question, as in ``Decoded``.
    """

    question: Question[A]
    render: Callable[[A], WireResponse]
    warnings: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


class Exchange(Struct, frozen=True, kw_only=True):
    """A path that asks a model and is answered with one value; nothing is generated.

    ``decode`` is pure; any fault of the body is a ``BadRequest`` from it. Each of its questions goes with its own
    ``render``, which is why the type of the answer is left open here.

    Attributes:
        accepts: the body; ``None`` = there is none, as with ``GET`` and ``DELETE``.
        raises: errors that are answered besides those of every question, for the OpenAPI document.
    """

    method: Literal["GET", "POST", "DELETE"] = "POST"
    path: str
    decode: Callable[[WireRequest], Exchanged[Any]]
    returns: type[Struct]
    summary: str
    accepts: type[Struct] | None = None
    access: Access = "key"
    raises: tuple[type[MlxpError], ...] = ()


class RequestField(Struct, frozen=True):
    """What happens to one field of the protocol's requests: honoured, accepted without effect, or refused.

    Attributes:
        needs: what the model must be able to do for it, a field of ``Capabilities``.
    """

    name: str
    treatment: Literal["honoured", "accepted", "refused"]
    note: str = ""
    needs: Capability | None = None


class WireProtocol(Struct, frozen=True, kw_only=True):
    """One API surface.

    Attributes:
        name: unique, shown to users; the same as its plugin's.
        endpoints: its paths, Litestar-style parameters (``/v1/models/{model_id:str}``).
        render_error: any error in the protocol's own shape, status included. Over HTTP the error's headers hold the
            request's id, as ``x-request-id``.
        fields: the manifest of request fields, shown at ``GET /v1``.
        prefixes: path prefixes whose unknown paths get this protocol's error shape.
        error: the body that ``render_error`` writes, for the OpenAPI document.
    """

    name: str
    endpoints: tuple[Endpoint | Query | Exchange, ...]
    render_error: Callable[[MlxpError], WireResponse]
    fields: tuple[RequestField, ...] = ()
    prefixes: tuple[str, ...] = ()
    error: type[Struct] | None = None
