"""What chunks and whole answers say alike: finish reasons, scores, usage, our extension."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from mlxp_core.types import Finished, Reason, TokenScore, Usage
from mlxp_protocols.openai_chat import wire_answer as wire

REASONS: Mapping[Reason, wire.FinishReason] = {
    "stop": "stop",
    "length": "length",
    "calls": "tool_calls",
    "cancelled": "stop",
}

_LEAST_LOGPROB = -9999.0  # JSON has no -inf


class Head(Struct, frozen=True):
    """What all parts of one answer share; ``created`` in seconds since 1970."""

    id: str
    created: int
    model: str
    fingerprint: str
    choices: int = 1


def logprob_of(chosen: TokenScore, top: Sequence[TokenScore]) -> wire.TokenLogprob:
    """Return a token's score with its rivals'."""
    rivals = [wire.TopLogprob(score.text, list(score.data), _finite(score.logprob)) for score in top]
    return wire.TokenLogprob(chosen.text, list(chosen.data), _finite(chosen.logprob), rivals)


def usage_of(spent: Mapping[int, Usage]) -> wire.Usage:
    """Return the usage of a request: the prompt as the first choice counted it, the completions summed."""
    first = spent[min(spent)]
    completion = sum(usage.completion for usage in spent.values())
    return wire.Usage(
        prompt_tokens=first.prompt,
        completion_tokens=completion,
        total_tokens=first.prompt + completion,
        prompt_tokens_details=wire.PromptDetails(first.cached),
        completion_tokens_details=wire.CompletionDetails(sum(usage.thinking for usage in spent.values())),
    )


def extension_of(event: Finished, seed: int | None = None) -> wire.Extension:
    """Return what the protocol has no field for."""
    return wire.Extension(
        seed=seed, stop=event.stop, cancelled=event.reason == "cancelled", warnings=event.warnings
    )


def _finite(logprob: float) -> float:
    return max(logprob, _LEAST_LOGPROB)
