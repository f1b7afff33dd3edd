"""What is asked of the engine, the same whether the client streams or not.

``None`` always means "not said": the desk fills in the model's default, a protocol never does.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Raw, Struct, field

from mlxp_core.types.content import Message


class ToolSpec(Struct, frozen=True):
    """A tool the model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    strict: bool = False


class ToolChoice(Struct, frozen=True):
    """Whether the model may, must not or must call.

    Attributes:
        mode: ``auto``, ``none``, ``required`` (any tool) or ``one`` (the tool ``name``).
        parallel: whether several calls in one answer are wanted.
    """

    mode: Literal["auto", "none", "required", "one"] = "auto"
    name: str | None = None
    parallel: bool = True


class Sampling(Struct, frozen=True, kw_only=True):
    """How tokens are drawn. ``None`` = the model's default.

    Attributes:
        temperature: 0 is greedy.
        top_p: nucleus mass; 0 and 1 switch it off.
        top_k: how many candidates at most; 0 switches it off.
        min_p: least probability relative to the likeliest token; 0 switches it off.
        seed: any integer; a fresh one is drawn when absent, and the one used is reported.
        repetition_penalty: over the last ``repetition_window`` tokens; 1 switches it off.
        presence_penalty: subtracted once from every token already generated.
        frequency_penalty: subtracted per occurrence in the generated text.
        logit_bias: token id -> number added to its logit.
        stages: settings of further sampler stages by name, decoded by the stage that owns them.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    repetition_penalty: float | None = None
    repetition_window: int = 20
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    stages: Mapping[str, Raw] = field(default_factory=dict)


class OutputShape(Struct, frozen=True):
    """What shape the answer must have: ``text`` is free, other kinds come from constraint plugins.

    Attributes:
        mixed: tool calls may follow text of the answer; otherwise they stand in place of it.
    """

    kind: str = "text"
    body: Raw | None = None
    mixed: bool = False


PromptSource = tuple[Message, ...] | str | tuple[int, ...]
"""A conversation, plain text, or token ids."""


class GenerateRequest(Struct, frozen=True, kw_only=True):
    """Ask a model to go on.

    One request may have several prompts, for surfaces that send them so: the answers to prompt ``p`` are the choices
    ``p * choices`` to ``p * choices + choices - 1``, all under one id, one ticket and one place in the queue's order.

    Attributes:
        id: unique; shows in logs, records and cancel calls.
        model: the name the client sent.
        prompt: a conversation, plain text, or token ids.
        thinking: on, off, or the template's own default.
        thinking_budget: how many tokens the thinking that begins the answer may have; ``None`` = any number.
        max_tokens: of the answer, thinking included.
        stop: strings that end the visible answer; never searched inside thinking or calls.
        adapters: ids of mounted adapters, whose terms are added up; ``None`` = what the deployment says.
        top_scores: ``None`` for no log-probabilities, else how many alternatives to report per token (0..20).
        choices: how many independent answers to each prompt, 1..8; choice ``i`` uses ``seed + i``.
        further_prompts: more prompts after ``prompt``; prompts times choices are at most 64.
        echo: tell the text of the prompt in ``Started``; only for plain text and token ids.
        template_args: further variables for the chat template.
    """

    id: str
    model: str
    prompt: PromptSource
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    sampling: Sampling = Sampling()
    thinking: bool | None = None
    thinking_budget: int | None = None
    output: OutputShape = OutputShape()
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    adapters: tuple[str, ...] | None = None
    top_scores: int | None = None
    choices: int = 1
    further_prompts: tuple[PromptSource, ...] = ()
    echo: bool = False
    template_args: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
