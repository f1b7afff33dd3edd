"""What a template asks a model, and what it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

Json = Any
Messages = Sequence[Mapping[str, Json]]
"""A conversation, as chat APIs have it."""

S = TypeVar("S", bound=Struct)


class Dropped(Exception):
    """A row cannot be made, or should not be kept; says why in words that are counted."""

    def __init__(self, why: str, text: str = "") -> None:
        """Keep the reason, and what there is of the row."""
        super().__init__(why)
        self.why = why
        self.text = text


class Called(Struct, frozen=True):
    """A tool call; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


class Reply(Struct, frozen=True):
    """What the model said, without thinking; complete."""

    text: str
    calls: tuple[Called, ...] = ()


class Ask(Protocol):
    """Asks a model, for one task."""

    def __call__(
        self,
        messages: Messages,
        *,
        tokens: int | None = None,
        shape: type[Struct] | None = None,
        tools: Sequence[Json] = (),
    ) -> Reply:
        """Return the model's reply.

        Args:
            messages: the conversation.
            tokens: most of the reply; ``None`` = as the job says.
            shape: what the reply has to be in JSON, where the server can hold it to that.
            tools: that it may call.

        Raises:
            Dropped: it is empty, or was cut off.
        """
        ...


def said(role: str, content: str) -> dict[str, Json]:
    """Return a message."""
    return {"role": role, "content": content}


def words(ask: Ask, system: str, user: str, *, tokens: int | None = None) -> str:
    """Return what a model says to one message, without spaces around it."""
    return ask([said("system", system), said("user", user)], tokens=tokens).text.strip()


def shaped(ask: Ask, system: str, user: str, shape: type[S], *, tokens: int | None = None) -> S:
    """Return what a model says to one message, as a value.

    Raises:
        Dropped: it says something else.
    """
    reply = ask([said("system", system), said("user", user)], tokens=tokens, shape=shape)
    text = reply.text
    start, end = (
        text.find("{"),
        text.rfind("}"),
    )  # a model that is not held to a shape likes to talk around it
    try:
        return msgspec.json.decode(text[start : end + 1], type=shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Dropped("the reply has another shape than was asked for", text) from error
