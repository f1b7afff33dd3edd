"""The half of a model without arrays: it turns requests into prompts and tokens into events. Shared by all threads."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from mlxp_core.contracts import FamilyConfig, ModelFamily, ThinkingFormat, ToolFormat, VisionTower
from mlxp_core.errors import BadRequest, ModelFolderError, PluginError
from mlxp_core.loading.choose import choose_family
from mlxp_core.loading.eyes import Eyes, find_eyes
from mlxp_core.loading.files import read_bytes
from mlxp_core.loading.folder import ModelFolder, token_texts
from mlxp_core.loading.pooling import read_pooling
from mlxp_core.prompting import ChatTemplate, Lesson, Prompt, Sight, Tokenizer, lesson, prepare
from mlxp_core.reading import Reader, Thought, thought_of
from mlxp_core.types import Capabilities, GenerateRequest, Message, ModelInfo, ToolSpec

_log = logging.getLogger(__name__)

F = TypeVar("F")


class Formats(Protocol):
    """What plugins brought, as far as a model needs it; the registry fits."""

    @property
    def families(self) -> Mapping[str, ModelFamily]:
        """Families by name."""
        ...

    @property
    def tool_formats(self) -> Mapping[str, ToolFormat]:
        """Formats of tool calls by name."""
        ...

    @property
    def thinking_formats(self) -> Mapping[str, ThinkingFormat]:
        """Formats of thinking by name."""
        ...

    @property
    def vision_towers(self) -> Mapping[str, VisionTower]:
        """Kinds of eyes by name."""
        ...


class Frontend:
    """What a model's files and its family say about text.

    Attributes:
        info: what anyone may know of the model.
        family: who claims it.
        config: as the family read it.
        tokenizer: text to token ids and back.
        end_tokens: tokens that end an answer.
        template: the chat template; ``None`` = the model takes plain text only.
        thinking: how it thinks; ``None`` = it does not.
        tools: how it calls tools; ``None`` = it does not.
        eyes: its vision tower; ``None`` = it does not see.
        pooling: how its hidden states become the vector of a text; ``None`` = they do not.
    """

    def __init__(
        self,
        folder: ModelFolder,
        family: ModelFamily,
        config: FamilyConfig,
        *,
        thinking: ThinkingFormat | None = None,
        tools: ToolFormat | None = None,
        eyes: Eyes | None = None,
    ) -> None:
        """Read tokenizer and template of a folder.

        Args:
            folder: the model.
            family: who claims it.
            config: as the family read it.
            thinking: the family's format; used if the template knows it.
            tools: the family's format; used if the template takes tools.
            eyes: its vision tower; used if the template shows images.

        Raises:
            ModelFolderError: when tokenizer or template is broken.
        """
        self.family, self.config = family, config
        try:
            self.template = _template(folder, None if eyes is None else eyes.preparer.placeholder)
            self.tokenizer = _tokenizer(folder, self.template)
        except ModelFolderError as error:
            raise ModelFolderError(f"{folder.name}: {error.message}") from error
        self.end_tokens = self.tokenizer.end_tokens
        self.pooling = read_pooling(folder.path) if family.embeddings else None
        self.thinking = thinking if thinking is not None and _thinks(self.template, thinking) else None
        self.tools = tools if self.template is not None and "tools" in self.template.variables else None
        self.eyes = eyes if self._shows(folder.name, eyes) else None
        self._sight = None if self.eyes is None else _sight(self.eyes, self.tokenizer)
        self.info = ModelInfo(
            id=folder.name,
            path=folder.path,
            family=family.name,
            context=folder.context,
            vocabulary=self.tokenizer.size,
            weight_bytes=folder.weight_bytes,
            created=int((folder.path / "config.json").stat().st_mtime),
            capabilities=Capabilities(
                chat=self.template is not None,
                tools=self.tools is not None,
                thinking=self.thinking is not None,
                vision=self.eyes is not None,
                embeddings=self.pooling is not None,
            ),
            defaults=folder.defaults,
        )

    def _shows(self, name: str, eyes: Eyes | None) -> bool:
        """Say whether images can be put into prompts."""
        if eyes is None or self.template is None:
            return False
        image = eyes.preparer.placeholder
        known = self.tokenizer.token_id(image) is not None
        if not (known and self.template.traits.images):
            at_fault = "chat template shows no images" if known else "tokenizer lacks it"
            _log.warning("%s is served without eyes: images should be %r, but its %s", name, image, at_fault)
            return False
        return True

    def prepare(self, request: GenerateRequest) -> Prompt:
        """Render and tokenize a request, and prepare its images; runs on worker threads.

        Raises:
            BadRequest: when the prompt is empty, holds unknown ids, an image cannot be used, or the template refuses
                the conversation.
        """
        return prepare(
            request,
            template=self.template,
            tokenizer=self.tokenizer,
            thinking=self.thinking,
            sight=self._sight,
        )

    def lesson(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> Lesson:
        """Return a finished conversation as tokens, and which of them are answers.

        Raises:
            BadRequest: the model takes no conversations, or the template refuses this one.
        """
        if self.template is None:
            raise BadRequest("this model has no chat template, so it learns no conversations")
        return lesson(
            messages, tools, template=self.template, tokenizer=self.tokenizer, thinking=self.thinking
        )

    def thought(self, request: GenerateRequest, prompt: Prompt) -> Thought | None:
        """Return what is to be known of the answer's thinking, where it has a shape or a budget.

        Raises:
            BadRequest: when an answer with a shape cannot be told from the thinking before it.
        """
        if self.thinking is None or not is_conversation(request):
            return None
        over = prompt.text.rstrip().endswith(self.thinking.close)
        return thought_of(request, self.thinking, self.tokenizer, inside=prompt.inside_thinking, over=over)

    def reader(self, request: GenerateRequest, prompt: Prompt, choice: int) -> Reader:
        """Return what reads one choice's tokens.

        Plain text and token ids are continued as they are: only in conversations is markup read as thinking or calls.
        """
        chat = is_conversation(request)
        return Reader(
            request,
            table=self.tokenizer,
            end_tokens=self.end_tokens,
            thinking=self.thinking if chat else None,
            tools=self.tools if chat else None,
            inside_thinking=prompt.inside_thinking,
            choice=choice,
        )


def load_frontend(folder: ModelFolder, registry: Formats) -> Frontend:
    """Return a model's half without arrays, by the family that claims it.

    Eyes that cannot be used are a warning in the log, and the model is served without them.

    Raises:
        UnsupportedModel: when no family claims the model.
        ModelFolderError: when tokenizer or template is broken.
        PluginError: when several families claim the model, or a family names a format that no plugin brings.
    """
    family, config = choose_family(folder, registry.families)
    return Frontend(
        folder,
        family,
        config,
        thinking=_format(family, "thinking format", family.thinking_format, registry.thinking_formats),
        tools=_format(family, "tool format", family.tool_format, registry.tool_formats),
        eyes=_eyes(folder, family, config, registry.vision_towers),
    )


def is_conversation(request: GenerateRequest) -> bool:
    """Say whether the prompt is a conversation, not plain text or token ids."""
    return not isinstance(request.prompt, str) and not isinstance(next(iter(request.prompt), None), int)


def _eyes(
    folder: ModelFolder, family: ModelFamily, config: FamilyConfig, towers: Mapping[str, VisionTower]
) -> Eyes | None:
    try:
        return find_eyes(folder, family, config, towers)
    except ModelFolderError as error:
        _log.warning("%s is served without eyes: %s", folder.name, error.message)
        return None


def _sight(eyes: Eyes, tokenizer: Tokenizer) -> Sight:
    return Sight(eyes.preparer, tokenizer, settings=eyes.settings, whole_images=eyes.whole_images)


def _template(folder: ModelFolder, image: str | None) -> ChatTemplate | None:
    if folder.templates.default is None:
        return None
    return ChatTemplate(
        folder.templates.default,
        with_tools=folder.templates.with_tools,
        tokens=token_texts(folder.tokenizer_config),
        image=image,
    )


def _tokenizer(folder: ModelFolder, template: ChatTemplate | None) -> Tokenizer:
    """Read the tokenizer.

    Where tokenizer_config.json does not say whether plain text begins with the beginning token, it does if the
    model's conversations begin with it.
    """
    texts = token_texts(folder.tokenizer_config)
    begins = folder.tokenizer_config.get("add_bos_token")
    if not isinstance(begins, bool):
        begins = template is not None and "bos_token" in template.variables
    ends = {token.id for token in folder.tokenizer.added_tokens if token.content == texts.get("eos_token")}
    return Tokenizer(
        read_bytes(folder.path / "tokenizer.json"),
        size=folder.vocabulary,
        begin=texts.get("bos_token"),
        begins=begins,
        end_tokens=folder.end_ids | ends,
    )


def _thinks(template: ChatTemplate | None, thinking: ThinkingFormat) -> bool:
    """Say whether the template knows the markers of thinking, or its switch."""
    marks = (thinking.open, *([] if thinking.switch is None else [thinking.switch]))
    return template is not None and any(template.mentions(mark) for mark in marks)


def _format(family: ModelFamily, kind: str, name: str | None, there: Mapping[str, F]) -> F | None:
    if name is None:
        return None
    if name not in there:
        raise PluginError(
            f"family {family.name!r} needs the {kind} {name!r}, which no plugin brings; "
            f"there are: {', '.join(sorted(there)) or 'none'}"
        )
    return there[name]
