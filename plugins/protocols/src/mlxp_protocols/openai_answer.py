"""What answers of OpenAI's older surfaces say alike: a head, usage, and our extension of each choice."""

from collections.abc import Iterable

from msgspec import Struct

from mlxp_core.types import Finished, Reuse, Usage

_LEAST_LOGPROB = -9999.0  # JSON has no -inf


class Head(Struct, frozen=True):
    """What all parts of one answer share.

    Attributes:
        created: seconds since 1970.
        choices: how many answers each prompt gets.
        prompts: how many there are.
        explain_cache: each choice tells what the prompt cache did for it.
    """

    id: str
    created: int
    model: str
    fingerprint: str
    choices: int = 1
    prompts: int = 1
    explain_cache: bool = False

    @property
    def answers(self) -> int:
        """Return how many choices there are in all."""
        return self.choices * self.prompts


class Extension(Struct, frozen=True, omit_defaults=True):
    """What we add to a choice under ``mlxp``; a field is there when it has something to say.

    Attributes:
        seed: the seed in use.
        stop: the stop string that ended the answer.
        cancelled: whether the answer was cancelled; the protocol has no reason for it.
        warnings: diagnostics, such as malformed tool markup.
        cache: how much of the prompt was taken from the prompt cache, and why not more; only where that was asked.
    """

    seed: int | None = None
    stop: str | None = None
    cancelled: bool = False
    warnings: tuple[str, ...] = ()
    cache: Reuse | None = None


class PromptDetails(Struct, frozen=True):
    """Where the prompt came from."""

    cached_tokens: int


class CompletionDetails(Struct, frozen=True, omit_defaults=True):
    """What the completion was spent on, and how many tokens were guessed ahead; nothing of that where none was.

    Attributes:
        accepted_prediction_tokens: guessed right, so part of the completion.
        rejected_prediction_tokens: guessed wrong, so part of nothing.
    """

    reasoning_tokens: int
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0


class TokenUsage(Struct, frozen=True):
    """Tokens of the whole request: each prompt once, the completions of all choices."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


def usage_of(head: Head, spent: Iterable[tuple[int, Usage]]) -> TokenUsage:
    """Return the usage of a request: each prompt as its first choice counted it, the completions summed.

    Args:
        head: says how many choices each prompt has.
        spent: the number of each choice, and what it took.
    """
    by_choice = sorted(spent, key=lambda pair: pair[0])
    firsts = [usage for choice, usage in by_choice if choice % head.choices == 0]
    prompt = sum(usage.prompt for usage in firsts)
    completion = sum(usage.completion for _, usage in by_choice)
    return TokenUsage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        prompt_tokens_details=PromptDetails(sum(usage.cached for usage in firsts)),
        completion_tokens_details=CompletionDetails(
            sum(usage.thinking for _, usage in by_choice),
            sum(usage.accepted for _, usage in by_choice),
            sum(usage.guessed - usage.accepted for _, usage in by_choice),
        ),
    )


def extension_of(event: Finished, seed: int | None = None, *, explain_cache: bool = False) -> Extension:
    """Return what the protocol has no field for."""
    return Extension(
        seed=seed,
        stop=event.stop,
        cancelled=event.reason == "cancelled",
        warnings=event.warnings,
        cache=event.reuse if explain_cache else None,
    )


def finite(logprob: float) -> float:
    """Return a log-probability that JSON can say."""
    return max(logprob, _LEAST_LOGPROB)
