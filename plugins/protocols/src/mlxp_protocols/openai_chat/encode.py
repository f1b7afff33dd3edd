"""What chunks and whole answers say alike: finish reasons and scores."""

from collections.abc import Mapping, Sequence

from mlxp_core.types import Reason, TokenScore
from mlxp_protocols.openai_answer import finite
from mlxp_protocols.openai_chat import wire_answer as wire

REASONS: Mapping[Reason, wire.FinishReason] = {
    "stop": "stop",
    "length": "length",
    "calls": "tool_calls",
    "cancelled": "stop",
}


def logprob_of(chosen: TokenScore, top: Sequence[TokenScore]) -> wire.TokenLogprob:
    """Return a token's score with its rivals'."""
    rivals = [wire.TopLogprob(score.text, list(score.data), finite(score.logprob)) for score in top]
    return wire.TokenLogprob(chosen.text, list(chosen.data), finite(chosen.logprob), rivals)
