"""What kinds of conversation a chat template takes, found out by trying it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from mlxp_core.errors import BadRequest

TemplateMessage = dict[str, Any]
"""A message as templates read it: ``role``, ``content`` and what else the role has."""

TemplateTool = dict[str, Any]
"""A tool as templates read it: ``{"type": "function", "function": {...}}``."""

_WORD = "qzprobe"
"""What a probe says; a template that takes the probe shows it."""


class TemplateTraits(Struct, frozen=True, kw_only=True):
    """What a template takes without refusing or losing it.

    Attributes:
        system: a system message at the beginning.
        late_system: a system message in the middle.
        repeated: two user messages in a row.
        text_arguments: arguments of an earlier call that are text and no object.
        images: images in user messages.
        images_in_results: images in what tools answered.
    """

    system: bool = True
    late_system: bool = True
    repeated: bool = True
    text_arguments: bool = True
    images: bool = True
    images_in_results: bool = True


def probe(render: Callable[[Sequence[TemplateMessage]], str], *, image: str | None = None) -> TemplateTraits:
    """Render small conversations and see which of them come out whole.

    Args:
        render: the template.
        image: what it prints for an image; ``None`` = the model has no eyes.
    """

    def shown(word: str, *messages: TemplateMessage) -> int:
        try:
            return render(messages).count(word)
        except BadRequest:
            return 0

    def takes(*messages: TemplateMessage) -> bool:
        return shown(_WORD, *messages) > 0

    def shows_images(*messages: TemplateMessage) -> bool:
        pictured = {**messages[-1], "content": [{"type": "text", "text": "r"}, {"type": "image"}]}
        return image is not None and shown(image, *messages[:-1], pictured) == shown(image, *messages) + 1

    user, answer = _says("user", "a"), _says("assistant", "b")
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": _WORD}}
    called = {**_says("assistant", ""), "tool_calls": [call]}
    result = {**_says("tool", "r"), "tool_call_id": "c1", "name": "f"}
    proper = {**called, "tool_calls": [{**call, "function": {"name": "f", "arguments": {}}}]}
    return TemplateTraits(
        system=takes(_says("system", _WORD), user),
        late_system=takes(user, answer, _says("system", _WORD), user),
        repeated=takes(user, _says("user", _WORD)),
        text_arguments=takes(user, called, result),
        images=shows_images(user),
        images_in_results=shows_images(user, proper, result),
    )


def _says(role: str, content: str) -> TemplateMessage:
    return {"role": role, "content": content}
