"""What a model and the plugins cannot do is refused by name, before any work."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from mlxp_core.contracts import ConstraintKind, SamplerStage, ToolFormat
from mlxp_core.desk.shapes import shape_of
from mlxp_core.errors import BadRequest
from mlxp_core.prompting import MOST_IMAGES
from mlxp_core.types import (
    GenerateRequest,
    ImageBytes,
    ImageUrl,
    Message,
    ModelInfo,
    OutputShape,
    Part,
    Result,
)

MOST_CHOICES = 8
MOST_ANSWERS = 64
MOST_SCORES = 20


class Offer(Protocol):
    """What plugins brought, as far as a request may ask for it by name; the registry fits."""

    @property
    def sampler_stages(self) -> Mapping[str, SamplerStage]:
        """Further sampler stages."""
        ...

    @property
    def constraints(self) -> Mapping[str, ConstraintKind]:
        """Kinds of structured output."""
        ...


def check(request: GenerateRequest, model: ModelInfo, offer: Offer, tools: ToolFormat | None) -> OutputShape:
    """Return the shape that the answer must have, or refuse the request.

    Args:
        request: as the client sent it.
        model: the model that will answer.
        offer: what the plugins brought.
        tools: the tool format of the model's family, where it has one.

    Raises:
        BadRequest: names the field and what there is instead.
    """
    _check_numbers(request, model)
    check_conversation(request, model)
    _check_stages(request, offer.sampler_stages)
    return shape_of(request, tools, offer.constraints)


def check_conversation(request: GenerateRequest, model: ModelInfo) -> None:
    """Refuse images and tools that the model cannot take.

    Raises:
        BadRequest: names the field.
    """
    _check_images(request, model)
    _check_tools(request, model)


def _check_numbers(request: GenerateRequest, model: ModelInfo) -> None:
    if request.max_tokens is not None and request.max_tokens < 1:
        raise BadRequest(f"an answer has at least 1 token, not {request.max_tokens}", param="max_tokens")
    if not 1 <= request.choices <= MOST_CHOICES:
        raise BadRequest(
            f"a request may ask for 1 to {MOST_CHOICES} choices, not {request.choices}", param="choices"
        )
    answers = (1 + len(request.further_prompts)) * request.choices
    if answers > MOST_ANSWERS:
        raise BadRequest(
            f"prompts times choices may be {MOST_ANSWERS}, not {answers}; send several requests",
            param="prompt",
        )
    if request.thinking_budget is not None and request.thinking_budget < 0:
        raise BadRequest(
            f"a budget of thinking tokens is at least 0, not {request.thinking_budget}",
            param="thinking_budget",
        )
    if request.top_scores is not None and not 0 <= request.top_scores <= MOST_SCORES:
        raise BadRequest(
            f"log-probabilities come for 0 to {MOST_SCORES} rivals, not {request.top_scores}",
            param="top_scores",
        )
    for token in request.sampling.logit_bias:
        if not 0 <= token < model.vocabulary:
            raise BadRequest(
                f"logit_bias names token {token}; {model.id} has 0 to {model.vocabulary - 1}",
                param="logit_bias",
            )


def _check_images(request: GenerateRequest, model: ModelInfo) -> None:
    prompts = (request.prompt, *request.further_prompts)
    messages = [turn for prompt in prompts for turn in prompt if isinstance(turn, Message)]
    images = sum(_images(message.parts) for message in messages)
    if images and not model.capabilities.vision:
        raise BadRequest(f"{model.id} cannot see; leave images out", param="prompt")
    if images > MOST_IMAGES:
        raise BadRequest(f"a request may have {MOST_IMAGES} images, not {images}", param="prompt")


def _images(parts: Sequence[Part]) -> int:
    """Count the images among parts, those in results too."""
    count = 0
    for part in parts:
        match part:
            case Result(parts=inner):
                count += _images(inner)
            case ImageBytes() | ImageUrl():
                count += 1
            case _:
                continue
    return count


def _check_stages(request: GenerateRequest, stages: Mapping[str, SamplerStage]) -> None:
    for name, body in request.sampling.stages.items():
        if name not in stages:
            there = ", ".join(sorted(stages)) or "none"
            raise BadRequest(
                f"no plugin brings the sampler stage {name!r}; installed: {there}", param=f"stages.{name}"
            )
        try:
            msgspec.json.decode(body, type=stages[name].params)
        except msgspec.MsgspecError as error:
            raise BadRequest(
                f"settings of the sampler stage {name!r}: {error}", param=f"stages.{name}"
            ) from error


def _check_tools(request: GenerateRequest, model: ModelInfo) -> None:
    choice = request.tool_choice
    if choice.mode == "none":
        return
    if request.tools and not model.capabilities.tools:
        raise BadRequest(f"{model.id} has no format for tool calls; leave tools out", param="tools")
    if choice.mode == "auto":
        return
    names = [tool.name for tool in request.tools]
    if not names:
        raise BadRequest("tool_choice asks for a call, and tools is empty", param="tool_choice")
    if choice.mode == "one" and choice.name not in names:
        raise BadRequest(
            f"tool_choice names {choice.name!r}; the request's tools are {', '.join(names)}",
            param="tool_choice",
        )
