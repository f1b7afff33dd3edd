"""What this plugin brings: one path that takes a question as JSON and answers in plain text."""

import uuid

from msgspec import Struct, ValidationError
from msgspec.json import Decoder

from mlxp_core import hookimpl
from mlxp_core.contracts import Decoded, Endpoint, RequestField, WireProtocol
from mlxp_core.errors import BadRequest, MlxpError
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    Failed,
    Finished,
    GenerateRequest,
    Message,
    Prefilled,
    Scored,
    Started,
    Text,
    TextDelta,
    ThinkingDelta,
    WireRequest,
    WireResponse,
)


class Question(Struct, frozen=True):
    """The body of ``POST /say``."""

    text: str
    model: str = ""
    max_tokens: int | None = None
    stream: bool = True


class Answer(Struct, frozen=True):
    """Named for the OpenAPI document; the wire carries the text alone."""

    text: str


class Words:
    """Writes the visible text and nothing else."""

    media_type = "text/plain"

    def __init__(self, streaming: bool) -> None:
        """Start with nothing said."""
        self.streaming = streaming
        self._held: list[str] = []
        self._failed: Failed | None = None
        self._begun = False

    def feed(self, event: Event) -> bytes:
        """Return the words of a delta, or everything at the end."""
        match event:
            case TextDelta(text=text) | CallBroken(text=text):
                return self._say(text)
            case Finished():
                return b"" if self.streaming else "".join(self._held).encode()
            case Failed():
                self._failed = event
                return f"\n[failed: {event.message}]\n".encode() if self._begun else b""
            case (
                Started()
                | Prefilled()
                | ThinkingDelta()
                | CallStarted()
                | CallDelta()
                | CallDone()
                | Scored()
            ):
                return b""

    def _say(self, text: str) -> bytes:
        if self.streaming:
            self._begun = True
            return text.encode()
        self._held.append(text)
        return b""

    def keep_alive(self) -> bytes:
        """Stay silent: plain text has no comments."""
        return b""

    def failure(self) -> WireResponse | None:
        """Return the error as text if nothing was said yet."""
        if self._failed is None or self._begun:
            return None
        return WireResponse(
            status=self._failed.status, body=self._failed.message.encode(), media_type="text/plain"
        )


_QUESTION = Decoder(Question)


def _decode(request: WireRequest) -> Decoded:
    try:
        asked = _QUESTION.decode(request.body)
    except (ValidationError, ValueError) as error:
        raise BadRequest(f'/say: the body must be like {{"text": "hello"}}: {error}') from error
    if not asked.text:
        raise BadRequest("/say: text is empty; say something", param="text")
    return Decoded(
        GenerateRequest(
            id=f"say-{uuid.uuid4().hex}",
            model=asked.model,
            prompt=(Message(role="user", parts=(Text(asked.text),)),),
            max_tokens=asked.max_tokens,
        ),
        Words(asked.stream),
    )


def _render_error(error: MlxpError) -> WireResponse:
    return WireResponse(
        status=error.status, body=error.message.encode(), media_type="text/plain", headers=dict(error.headers)
    )


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    return [
        WireProtocol(
            name="plaintext",
            endpoints=(
                Endpoint(
                    path="/say", decode=_decode, accepts=Question, returns=Answer, summary="Say something"
                ),
            ),
            render_error=_render_error,
            fields=tuple(
                RequestField(name, "honoured") for name in ("text", "model", "max_tokens", "stream")
            ),
            prefixes=("/say",),
        )
    ]
