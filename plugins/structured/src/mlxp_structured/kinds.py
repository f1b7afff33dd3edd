"""The kinds of shapes, and how one becomes the constraint of an answer."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Raw

from mlxp_core.contracts import Constraint, ConstraintKind, Vocabulary
from mlxp_structured.shapes import KINDS, lark_of

if TYPE_CHECKING:
    from mlxp_structured.automata import Automata


class Compiler:
    """Makes constraints; threads may share it. The library is loaded with the first."""

    def __init__(self) -> None:
        """Load nothing."""
        self._automata: Automata | None = None
        self._lock = Lock()

    def kinds(self) -> list[ConstraintKind]:
        """Return everything that an answer can be held to."""
        return [ConstraintKind(name=name, compile=partial(self._compile, name)) for name in KINDS]

    def _compile(self, kind: str, body: Raw | None, vocabulary: Vocabulary) -> Constraint:
        """Return the constraint of one answer.

        Raises:
            BadRequest: the body is none of this kind, or asks for what cannot be held; the message names it.
        """
        source = lark_of(kind, body, vocabulary)
        with self._lock:
            if self._automata is None:
                from mlxp_structured.automata import Automata  # noqa: PLC0415  # loads the library

                self._automata = Automata()
        return self._automata.constraint(source, vocabulary)
