"""Who is next: first come, first served, and a fair change between models."""

from collections import deque
from collections.abc import Iterator

from mlxp_core.engine.sequence import Sequence


class WaitingLine:
    """Choices that wait for a row.

    One batch runs one model. While the choice that waits longest wants the model that has the batch, it is simply
    next. When it wants another one, the model that has the batch may still serve some choices from further back, at
    most ``patience`` of them; then nobody gets a row until the batch has run empty and the other model's turn begins.
    So no choice waits for more than ``patience`` later ones, and models do not change places at every request.
    """

    def __init__(self, patience: int) -> None:
        """Open an empty line."""
        self._patience = patience
        self._left = patience
        self._line: deque[Sequence] = deque()

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self._line)

    def join(self, sequence: Sequence) -> None:
        """Go to the end of the line."""
        self._line.append(sequence)

    def leave(self, sequence: Sequence) -> None:
        """Go away from wherever one stands."""
        self._line.remove(sequence)

    def clear(self) -> list[Sequence]:
        """Send everybody away, and return them."""
        everybody = list(self._line)
        self._line.clear()
        return everybody

    def call(self, model: str | None) -> Sequence | None:
        """Return the next one to get a row, taken out of the line; ``None`` if nobody may have one now.

        Args:
            model: whose batch it is; ``None`` when no row is taken.
        """
        if not self._line:
            return None
        if model is None or self._line[0].order.model == model:
            self._left = self._patience
            return self._line.popleft()
        if not self._left:
            return None
        found = next((sequence for sequence in self._line if sequence.order.model == model), None)
        if found is not None:
            self._left -= 1
            self._line.remove(found)
        return found
