"""Which tokens were shown, which were thought: each is counted where its first character ended up."""

from collections import deque
from collections.abc import Iterator

from mlxp_core.reading.detokenize import TokenTable
from mlxp_core.types import RawScore, Scored, TokenScore


class Ledger:
    """The tokens whose text is still on its way.

    Places are counted in characters of the answer as generated, markers included.

    Attributes:
        thinking: how many tokens turned out to be thinking.
    """

    def __init__(self, table: TokenTable, choice: int) -> None:
        self._table = table
        self._choice = choice
        self._open: deque[tuple[int, int, RawScore | None]] = deque()
        self.thinking = 0

    def enter(self, place: int, token: int, score: RawScore | None) -> None:
        """Take a token whose text begins at ``place``."""
        self._open.append((place, token, score))

    def shown(self, upto: int) -> list[Scored]:
        """Settle the tokens that begin before ``upto`` as visible; return the scores among them."""
        return [self._scored(token, score) for token, score in self._settle(upto) if score is not None]

    def thought(self, upto: int) -> None:
        """Settle the tokens that begin before ``upto`` as thinking."""
        for _ in self._settle(upto):
            self.thinking += 1

    def dropped(self, upto: int) -> None:
        """Settle the tokens that begin before ``upto`` as neither."""
        for _ in self._settle(upto):
            pass

    def _settle(self, upto: int) -> Iterator[tuple[int, RawScore | None]]:
        waiting = self._open
        while waiting and waiting[0][0] < upto:
            yield waiting.popleft()[1:]

    def _scored(self, token: int, score: RawScore) -> Scored:
        top = tuple(self._token(rival, logprob) for rival, logprob in score.top)
        return Scored(self._token(token, score.logprob), top, self._choice)

    def _token(self, token: int, logprob: float) -> TokenScore:
        data = self._table.token_bytes(token) or self._table.added_tokens.get(token, "").encode()
        return TokenScore(token, data.decode("utf-8", "replace"), data, logprob)
