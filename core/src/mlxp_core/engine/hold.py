"""What one row may draw next: free thinking, a forced end of it, then what its shape allows.

An answer that has a shape is held to it from the end of its thinking on. Three things come before:

1. Thinking is free, but must not end the answer. Where the prompt does not begin it and the request wants it, the
   model may open it with its first token, in place of the first token of the shape.
2. A budget of thinking tokens, once used up, forces the tokens that end thinking, one by one.
3. A token of newlines right behind the end of thinking is layout: it may come, and is no part of the shape.

A row draws ahead of what has been read as long as nobody needs to know what that was: never with a shape, and with a
budget until it cannot be overstepped any more.
"""

from collections.abc import Callable

from mlxp_core.contracts import Constraint
from mlxp_core.engine.orders import Order
from mlxp_core.reading.steering import Thought

Mask = Callable[[], bytes]
"""Returns the bitmask of what may be drawn (see ``contracts.constraint``); may take a while, and may raise."""


class Hold:
    """The state of one row. ``take`` follows the reader: it is told of each token the reader has been fed."""

    def __init__(self, order: Order) -> None:
        """Begin behind the prompt."""
        self._reader = order.reader
        self._constraint: Constraint | None = order.constraint
        self._thought = order.thought or Thought()
        self._opening = self._thought.opening  # may still be drawn
        self._gap: tuple[int, ...] = ()  # may be drawn now
        self._forced: tuple[int, ...] = ()  # must be drawn now, one by one
        self._thinking = self._reader.thinking
        self._may_think = self._thinking or self._opening is not None
        self._force_end()

    def waits(self, unread: int) -> bool:
        """Say whether what is drawn next depends on tokens that have been drawn and, ``unread``, not taken."""
        if self._constraint is not None:
            return True
        budget = self._thought.budget
        if budget is None or not self._may_think:
            return False
        return bool(self._forced) or self._reader.completion_tokens + unread >= budget

    def mask(self) -> Mask | None:
        """Return what says which tokens may be drawn next; ``None`` = all. It knows of every token drawn before."""
        if self._forced:
            return lambda: _bits(self._forced[:1])
        if self._constraint is None:
            return None
        if self._thinking:
            return lambda: self._thought.endless
        constraint, further = self._constraint, self._gap
        if self._opening is not None:
            further = (*further, self._opening)
        return lambda: _with(constraint.allowed(), further)

    def take(self, token: int) -> None:
        """Note that ``token`` was drawn and read, and that the answer goes on."""
        was, now = self._thinking, self._reader.thinking
        self._forced = self._forced[1:]
        began = self._opening == token and now
        self._opening, gap, self._gap = None, self._gap, ()
        self._thinking = now
        if was and not now:
            self._gap, self._may_think = self._thought.gap, False
        elif not (was or now or token in gap or began) and self._constraint is not None:
            self._constraint.advance(token)
        self._may_think = self._may_think and now
        self._force_end()

    def _force_end(self) -> None:
        """Begin to end thinking once its budget is used up."""
        budget = self._thought.budget
        if budget is None or self._forced or not (self._thinking and self._may_think):
            return
        if self._reader.completion_tokens >= budget:
            self._forced = self._thought.closing


def _bits(tokens: tuple[int, ...]) -> bytes:
    return _with(b"", tokens)


def _with(mask: bytes, tokens: tuple[int, ...]) -> bytes:
    """Return the mask with these tokens allowed as well."""
    if not tokens:
        return mask
    bits = bytearray(mask.ljust(max(tokens) // 8 + 1, b"\0"))
    for token in tokens:
        bits[token // 8] |= 1 << token % 8
    return bytes(bits)
