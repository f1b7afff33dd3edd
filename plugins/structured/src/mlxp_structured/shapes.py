"""What the body of each kind of shape looks like, and what becomes of it."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from mlxp_core.contracts import Vocabulary
from mlxp_core.errors import BadRequest
from mlxp_core.types import PIECES, Grammar
from mlxp_structured.lark import LarkWriter

B = TypeVar("B")

KINDS = ("json_object", "json_schema", "regex", "choice", "grammar", PIECES)


class Regex(Struct, frozen=True):
    """A regular expression that the whole answer matches."""

    regex: str


class Choice(Struct, frozen=True):
    """The answers there are."""

    choice: tuple[str, ...]


class LarkGrammar(Struct, frozen=True):
    """A grammar in Lark's notation; its rule ``start`` is the answer."""

    grammar: str


def lark_of(kind: str, body: Raw | None, vocabulary: Vocabulary) -> str:
    """Return the grammar of a shape as llguidance reads it.

    Raises:
        BadRequest: the body is none of this kind, or asks for what cannot be held; the message names it.
    """
    given = Raw(b"null") if body is None else body
    if kind == "grammar":
        return _read(given, LarkGrammar, kind).grammar
    writer = LarkWriter(vocabulary.added_tokens, _shaped)
    if kind == PIECES:
        grammar = _read(given, Grammar, kind)
        return writer.source(grammar.start, grammar.rules)
    return writer.whole(_shaped(kind, given, writer))


def _shaped(kind: str, body: Raw, writer: LarkWriter) -> str:
    """Return an expression for a shape of any kind but ``PIECES``."""
    match kind:
        case "json_object":
            return writer.value({"type": "object"})
        case "json_schema":
            return writer.value(_schema(body))
        case "regex":
            return writer.pattern(_read(body, Regex, kind).regex)
        case "choice":
            choice = _read(body, Choice, kind).choice
            if not choice or "" in choice:
                raise BadRequest("a choice needs at least one answer, and none may be empty")
            return writer.choice(choice)
        case "grammar":
            return writer.nested(_read(body, LarkGrammar, kind).grammar)
        case _:
            raise BadRequest(f"a shape of kind {kind!r} cannot be part of another")


def _schema(body: Raw) -> Mapping[str, Any]:
    match _read(body, object, "json_schema"):
        case True:
            return {}
        case False:
            raise BadRequest("the schema is false: no answer has this shape")
        case dict() as schema:
            return schema
        case other:
            raise BadRequest(f"a JSON schema is an object, not {type(other).__name__}")


def _read(body: Raw, shape: type[B], kind: str) -> B:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadRequest(f"a shape of kind {kind!r}: {error}") from error
