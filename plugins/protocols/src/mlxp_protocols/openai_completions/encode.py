"""What chunks and whole answers say alike: finish reasons, and scores in their older shape."""

import codecs
from collections.abc import Mapping

from mlxp_core.types import Reason, Scored, TokenScore
from mlxp_protocols.openai_answer import finite
from mlxp_protocols.openai_completions import wire

REASONS: Mapping[Reason, wire.FinishReason] = {
    "stop": "stop",
    "length": "length",
    "calls": "stop",
    "cancelled": "stop",
}


class ScoreSheet:
    """The scores of one choice, until they are taken."""

    def __init__(self) -> None:
        """Begin at the first character of the answer."""
        self._scores: list[Scored] = []
        self._offsets: list[int] = []
        self._characters = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def enter(self, score: Scored) -> None:
        """Note the next token; one that goes on with a character begins where that character does."""
        self._scores.append(score)
        self._offsets.append(self._characters)
        self._characters += len(self._decoder.decode(score.chosen.data))

    def take(self) -> wire.Logprobs | None:
        """Return what was entered since the last time; nothing if nothing was."""
        if not self._scores:
            return None
        scores, offsets = self._scores, self._offsets
        self._scores, self._offsets = [], []
        return wire.Logprobs(
            tokens=[name_of(score.chosen) for score in scores],
            token_logprobs=[finite(score.chosen.logprob) for score in scores],
            top_logprobs=[
                {name_of(rival): finite(rival.logprob) for rival in (*score.top, score.chosen)}
                for score in scores
            ],
            text_offset=offsets,
        )


def name_of(score: TokenScore) -> str:
    r"""Return a token's text; part of a character as ``bytes:\xe2\x82``, so that no two tokens look alike."""
    try:
        return score.data.decode() or score.text
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in score.data)
