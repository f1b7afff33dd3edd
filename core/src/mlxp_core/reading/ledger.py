"""Which tokens were shown, which were thought: each is counted where its first character ended up."""

from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from mlxp_core.reading.detokenize import TokenTable
from mlxp_core.types import Scored, TokenScore


class RawScore(Struct, frozen=True, gc=False):
    """The log-probability of a token as the sampler gave it.

    Attributes:
        token: the token that was drawn.
        logprob: its natural log-probability.
        top: the best rivals and their log-probabilities, likeliest first.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


class Ledger:
    """The tokens whose text is still on its way.

    Places are counted in characters of the answer as generated, markers included.

    Attributes:
        thinking: how many tokens turned out to be thinking.
    """

    def __init__(self, table: TokenTable, choice: int) -> None:
        self._table = table
        self._choice = choice
        self._open: deque[tuple[int, RawScore | None]] = deque()
        self.thinking = 0

    def enter(self, place: int, score: RawScore | None) -> None:
        """Take a token whose text begins at ``place``."""
        self._open.append((place, score))

    def shown(self, upto: int) -> list[Scored]:
        """Settle the tokens that begin before ``upto`` as visible; return the scores among them."""
        return [self._scored(score) for score in self._settle(upto) if score is not None]

    def thought(self, upto: int) -> None:
        """Settle the tokens that begin before ``upto`` as thinking."""
        for _ in self._settle(upto):
            self.thinking += 1

    def dropped(self, upto: int) -> None:
        """Settle the tokens that begin before ``upto`` as neither."""
        for _ in self._settle(upto):
            pass

    def _settle(self, upto: int) -> Iterator[RawScore | None]:
        waiting = self._open
        while waiting and waiting[0][0] < upto:
            yield waiting.popleft()[1]

    def _scored(self, score: RawScore) -> Scored:
        top = tuple(self._token(token, logprob) for token, logprob in score.top)
        return Scored(self._token(score.token, score.logprob), top, self._choice)

    def _token(self, token: int, logprob: float) -> TokenScore:
        data = self._table.token_bytes(token)
        return TokenScore(token, data.decode("utf-8", "replace"), data, logprob)
