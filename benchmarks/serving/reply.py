"""An answer of an OpenAI chat server, out of what came over the wire."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
from msgspec import Struct

from benchmarks.serving.wire import Mark, events, response


class Said(Struct, frozen=True):
    """What a delta or a message says; servers differ in where thinking stands."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None

    @property
    def text(self) -> str:
        """Return all of it."""
        return (self.reasoning or self.reasoning_content or "") + (self.content or "")


class Choice(Struct, frozen=True):
    """One choice of an object."""

    delta: Said | None = None
    message: Said | None = None


class Details(Struct, frozen=True):
    """Of a prompt's tokens."""

    cached_tokens: int | None = None


class Usage(Struct, frozen=True):
    """As the server counts."""

    prompt_tokens: int = 0
    completion_tokens: int | None = None
    prompt_tokens_details: Details | None = None


class Object(Struct, frozen=True):
    """A chunk, or a whole answer."""

    choices: tuple[Choice, ...] = ()
    usage: Usage | None = None
    error: msgspec.Raw | None = None


class Reply(Struct, frozen=True):
    """An answer.

    Attributes:
        begin, end: when it was asked for, and when it was whole; seconds of one clock, as all times.
        times: when each piece of text came.
        text: thinking and answer together.
        fault: why it is no answer.
    """

    begin: float
    end: float
    times: tuple[float, ...] = ()
    text: str = ""
    usage: Usage | None = None
    fault: str | None = None

    @property
    def first_s(self) -> float:
        """Return the time to its first text."""
        return self.times[0] - self.begin

    @property
    def whole_s(self) -> float:
        """Return the time to its last text."""
        return self.times[-1] - self.begin

    @property
    def gaps_s(self) -> list[float]:
        """Return the times between pieces."""
        return [after - before for before, after in pairwise(self.times)]

    @property
    def tokens(self) -> int:
        """Return how many words were said; in the benchmark's checkpoints that is tokens."""
        return len(self.text.split())

    @property
    def cached(self) -> int | None:
        """Return how many tokens of the prompt were known, if the server says so."""
        details = self.usage and self.usage.prompt_tokens_details
        return details.cached_tokens if details else None


def reply(marks: Sequence[Mark], begin: float, end: float) -> Reply:
    """Read an answer, streamed or whole."""
    told = response(marks)
    streamed = "event-stream" in told.headers.get("content-type", "")
    whole = b"".join(data for _, data in told.body)
    parts = events(told.body) if streamed else [(end, whole)]
    times: list[float] = []
    texts: list[str] = []
    usage, fault = None, None if told.status == 200 else f"status {told.status}: {whole[:200]!r}"  # noqa: PLR2004
    for at, data in parts if fault is None else ():
        if data == b"[DONE]":
            continue
        try:
            read = msgspec.json.decode(data, type=Object)
        except msgspec.MsgspecError as error:
            fault = f"{error}: {data[:80]!r}"
            break
        usage = read.usage or usage
        if read.error is not None:
            fault = f"in the stream: {bytes(read.error)[:200]!r}"
        for text in filter(None, (_text(choice) for choice in read.choices)):
            times.append(at)
            texts.append(text)
    if fault is None and not times:
        fault = "no text"
    return Reply(begin, end, tuple(times), "".join(texts), usage, fault)


def _text(choice: Choice) -> str:
    said = choice.delta or choice.message
    return said.text if said is not None else ""
