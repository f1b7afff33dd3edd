"""Who is next: first come, first served, and a fair change between models."""

from collections import deque
from collections.abc import Callable, Iterator

from mlxp_core.engine.sequence import Sequence


class WaitingLine:
    """Choices that wait for a row.

    One batch runs one model. While the choice that waits longest wants the model that has the batch, it is simply
    next. When it wants another one, the model that has the batch may still serve some choices from further back, at
    most ``patience`` of them; then nobody gets a row until the batch has run empty and the other model's turn begins.
    So no choice waits for more than ``patience`` later ones, and models do not change places at every request.

    The same goes for a choice that there is no memory for yet: at most ``patience`` later ones that need less may pass
    it, then nobody gets a row until rows have ended and it fits.
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

    def call(self, model: str | None, fits: Callable[[Sequence], bool] = lambda _: True) -> Sequence | None:
        """Return the next one to get a row, taken out of the line; ``None`` if nobody may have one now.

        Args:
            model: whose batch it is; ``None`` when no row is taken, and then whoever is first gets one.
            fits: whether there is memory for a choice beside the rows that are taken.
        """
        if not self._line:
            return None
        first = self._line[0]
        if model is None or (first.order.model == model and fits(first)):
            self._left = self._patience
            return self._line.popleft()
        if not self._left:
            return None
        found = next((one for one in self._line if one.order.model == model and fits(one)), None)
        if found is not None:
            self._left -= 1
            self._line.remove(found)
        return found
