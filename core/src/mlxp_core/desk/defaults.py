"""What a request did not say: the deployment's setting, else the model's own recommendation, else ours.

The order for every value is request, ``[generation]``, generation_config.json, the table below.
"""

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from mlxp_core.contracts import Settings
from mlxp_core.errors import ContextOverflow
from mlxp_core.types import GenerateRequest, GenerationDefaults, GenerationSettings, ModelInfo

T = TypeVar("T")

TEMPERATURE = 0.7
TOP_P = 0.0
TOP_K = 0
MIN_P = 0.0
REPETITION_PENALTY = 1.0


def fill(
    request: GenerateRequest, *, settings: GenerationSettings, model: ModelInfo, seed: int
) -> GenerateRequest:
    """Return the request with every sampling value, thinking and the model's real name set.

    Args:
        request: as the client sent it.
        settings: the deployment's defaults.
        model: the model that will answer.
        seed: a fresh one, used when the request has none.
    """
    said, own = request.sampling, model.defaults
    sampling = replace(
        said,
        temperature=_first(said.temperature, settings.temperature, own.temperature, TEMPERATURE),
        top_p=_first(said.top_p, settings.top_p, own.top_p, TOP_P),
        top_k=min(_first(said.top_k, settings.top_k, own.top_k, TOP_K), model.vocabulary),
        min_p=_first(said.min_p, settings.min_p, own.min_p, MIN_P),
        repetition_penalty=_first(said.repetition_penalty, own.repetition_penalty, REPETITION_PENALTY),
        seed=_first(said.seed, seed),
    )
    thinking = request.thinking if request.thinking is not None else settings.thinking
    return replace(request, model=model.id, sampling=sampling, thinking=thinking)


def usual(settings: Settings, models: Iterable[ModelInfo]) -> dict[str, GenerationDefaults]:
    """Return how each model's tokens are drawn for requests that say nothing of it, by the model's id."""
    generation = settings.section(GenerationSettings)
    return {model.id: _usual(generation, model) for model in models}


def _usual(settings: GenerationSettings, model: ModelInfo) -> GenerationDefaults:
    silent = GenerateRequest(id="", model=model.id, prompt="")
    said = fill(silent, settings=settings, model=model, seed=0).sampling
    return GenerationDefaults(
        temperature=said.temperature,
        top_p=said.top_p,
        top_k=said.top_k,
        min_p=said.min_p,
        repetition_penalty=said.repetition_penalty,
    )


def answer_length(asked: int | None, *, prompt: int, usual: int, model: ModelInfo) -> int:
    """Return how many tokens the answer may have.

    Args:
        asked: the request's own limit, which is kept or refused, never changed.
        prompt: tokens of the prompt.
        usual: the deployment's limit for requests without one; cut to what the context leaves.
        model: the model that will answer.

    Raises:
        ContextOverflow: the prompt leaves no room, or less than was asked for.
    """
    room = model.context - prompt
    if room < 1:
        raise ContextOverflow(
            f"the prompt has {prompt} tokens, and {model.id} reads at most {model.context} with its answer; "
            "shorten the prompt",
            param="prompt",
        )
    if asked is None:
        return min(usual, room)
    if asked > room:
        raise ContextOverflow(
            f"prompt ({prompt} tokens) and answer ({asked}) make {prompt + asked}, and the context of "
            f"{model.id} holds {model.context}; ask for at most {room} or shorten the prompt",
            param="max_tokens",
        )
    return asked


def _first(*values: T | None) -> T:
    return next(value for value in values if value is not None)
