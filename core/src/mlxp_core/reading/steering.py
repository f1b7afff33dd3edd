"""How the thinking of an answer begins and ends, in tokens, for whoever has to steer it."""

from msgspec import Struct

from mlxp_core.contracts import ThinkingFormat, Vocabulary
from mlxp_core.errors import BadRequest
from mlxp_core.types import GenerateRequest

_NEWLINES = ("\n", "\n\n")


class Thought(Struct, frozen=True, kw_only=True):
    """Tokens of thinking.

    Attributes:
        budget: how many tokens the thinking that begins the answer may have, markers included; ``None`` = any number.
        closing: the tokens that end thinking.
        opening: the token that begins it, where the model may do so itself.
        gap: tokens of newlines, which are layout behind thinking.
        endless: bitmask of all tokens that do not end the answer.
    """

    budget: int | None = None
    closing: tuple[int, ...] = ()
    opening: int | None = None
    gap: tuple[int, ...] = ()
    endless: bytes = b""


def thought_of(
    request: GenerateRequest, thinking: ThinkingFormat, vocabulary: Vocabulary, *, inside: bool, over: bool
) -> Thought | None:
    """Return what is to be known of an answer's thinking; ``None`` = nothing, it has neither shape nor budget.

    Args:
        request: what is asked.
        thinking: how the model thinks.
        vocabulary: the model's.
        inside: the prompt ends within thinking.
        over: the prompt ends with thinking that is over.

    Raises:
        BadRequest: the answer begins with thinking, has a shape, and its thinking may end in the middle of a token.
    """
    shaped = request.output.kind != "text"
    if not shaped and request.thinking_budget is None:
        return None
    tokens = {text: token for token, text in vocabulary.added_tokens.items()}
    if shaped and inside and thinking.close not in tokens:
        raise BadRequest(
            f"the end of this model's thinking, {thinking.close!r}, is no token of its own, so its answer cannot be "
            "held to a shape behind it; switch thinking off",
            param="output",
        )
    may_open = request.thinking is not False and not inside and not over
    return Thought(
        budget=request.thinking_budget,
        closing=tuple(vocabulary.encode(f"\n{thinking.close}")),
        opening=tokens.get(thinking.open) if may_open and thinking.close in tokens else None,
        gap=tuple(ids[0] for text in _NEWLINES if len(ids := vocabulary.encode(text)) == 1),
        endless=_without(vocabulary.end_tokens, vocabulary.size) if shaped else b"",
    )


def _without(tokens: frozenset[int], size: int) -> bytes:
    """Return the bitmask of all tokens but these."""
    bits = bytearray(b"\xff") * -(-size // 8)
    for token in tokens:
        bits[token // 8] &= ~(1 << token % 8)
    return bytes(bits)
