"""One request as it was asked and answered, to be kept, looked at and asked again."""

from collections.abc import Mapping

from msgspec import Raw, Struct, field

from mlxp_core.types.records import Timing, Usage

TRANSCRIPT_VERSION = 1
"""Of what is written; whoever reads another one refuses it."""

TRANSCRIPT_TYPE = "application/vnd.mlxp.transcript+json"
"""The media type: a request that accepts it is answered with its transcript, whatever surface it is for."""


class SaidText(Struct, frozen=True, tag_field="kind", tag="text"):
    """Visible text, from one part of another kind to the next."""

    text: str


class SaidThinking(Struct, frozen=True, tag_field="kind", tag="thinking"):
    """Reasoning, likewise."""

    text: str


class SaidCall(Struct, frozen=True, tag_field="kind", tag="call"):
    """A tool call; ``arguments`` is JSON text, ``broken`` says what was wrong with one that does not count."""

    name: str
    arguments: str
    broken: str | None = None


Said = SaidText | SaidThinking | SaidCall


class ToldChoice(Struct, frozen=True, kw_only=True):
    """One answer.

    Attributes:
        seed: it was drawn with; ``None`` = it never had a row.
        said: its parts, in order.
        reason: why it ended; ``failed`` where ``error`` says what happened.
        stop: the stop string that ended it.
    """

    choice: int
    seed: int | None = None
    said: tuple[Said, ...] = ()
    reason: str = ""
    stop: str | None = None
    usage: Usage = Usage()
    timing: Timing = Timing()
    warnings: tuple[str, ...] = ()
    error: str | None = None


class Transcript(Struct, frozen=True, kw_only=True):
    """A request and its answers.

    Attributes:
        mlxp_transcript: version of this shape.
        version: of the server.
        at_s: when it came, in seconds since 1970.
        protocol: the API surface that was asked, at ``path``.
        body: as it was sent.
        model: id of the one that answered.
        seed: of the first choice.
    """

    mlxp_transcript: int = TRANSCRIPT_VERSION
    version: str
    id: str
    at_s: float
    protocol: str
    method: str = "POST"
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Raw
    model: str
    adapters: tuple[str, ...] = ()
    seed: int | None = None
    choices: tuple[ToldChoice, ...] = ()
