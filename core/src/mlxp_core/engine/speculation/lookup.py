"""Guesses by looking up: what followed when the last tokens stood in this text before.

Every run of ``GRAM`` tokens is indexed by where it ended last, and every end points to the one before it, as in LZ77
compression. So a token costs one look into a table, however long the text is. Of the latest ``CANDIDATES`` places that
end like the text does, the one that agrees the furthest back is taken.
"""

from collections.abc import Sequence

GRAM = 3
"""Tokens that must agree before anything is guessed."""

CANDIDATES = 8
FURTHEST = 32
"""Tokens compared backwards; those that agree this far are as good as any."""

NOWHERE = -1


class Lookup:
    """The tokens of one row, and where each run of them stood before."""

    def __init__(self, prompt: Sequence[int]) -> None:
        """Begin with a prompt."""
        self._tokens: list[int] = []
        self._latest: dict[tuple[int, ...], int] = {}  # the last tokens of a run -> where it ended last
        self._before: list[int] = []  # where it ended -> where the same run ended before
        self.extend(prompt)

    def __len__(self) -> int:
        return len(self._tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Take further tokens."""
        start, all_tokens, latest = len(self._tokens), self._tokens, self._latest
        all_tokens.extend(tokens)
        for end in range(start, len(all_tokens)):
            run = tuple(all_tokens[end - GRAM + 1 : end + 1])
            self._before.append(latest.get(run, NOWHERE))
            if len(run) == GRAM:
                latest[run] = end

    def next(self) -> int | None:
        """Return what followed when the last tokens stood in this text before; of several places, at the latest."""
        place = self._before[-1] if self._before else NOWHERE
        return None if place == NOWHERE else self._tokens[place + 1]

    def guess(self, most: int) -> tuple[int, ...]:
        """Return what may come next: no more than ``most`` tokens, nor than agree before them; perhaps none."""
        agreed, place = self._best()
        if not agreed:
            return ()
        period = (
            len(self._tokens) - 1 - place
        )  # what runs into the end of the text goes on by repeating itself
        return tuple(self._tokens[place + 1 + step % period] for step in range(min(most, agreed)))

    def _best(self) -> tuple[int, int]:
        """Return how many last tokens agree with those before a place, and the place; the latest among the best."""
        best, place = (0, NOWHERE), self._before[-1] if self._before else NOWHERE
        for _ in range(CANDIDATES):
            if place == NOWHERE or best[0] >= FURTHEST:
                break
            agreed = self._agreed(place)
            if agreed > best[0]:
                best = agreed, place
            place = self._before[place]
        return best

    def _agreed(self, place: int) -> int:
        last = len(self._tokens) - 1
        most = min(FURTHEST, place + 1)
        agreed = GRAM
        while agreed < most and self._tokens[place - agreed] == self._tokens[last - agreed]:
            agreed += 1
        return agreed
