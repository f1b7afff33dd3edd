"""A request becomes the tokens the model reads first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.contracts import ImageSpan, Pixels, ThinkingFormat
from mlxp_core.errors import BadRequest
from mlxp_core.prompting.render import render
from mlxp_core.prompting.sight import Sight
from mlxp_core.prompting.template import ChatTemplate
from mlxp_core.prompting.tokenizer import Tokenizer
from mlxp_core.types import GenerateRequest, ImageBytes, Message


class Prompt(Struct, frozen=True):
    """What the model reads before it answers.

    Attributes:
        tokens: token ids; at least one.
        inside_thinking: the prompt ends within thinking, so the answer begins there.
        boundaries: lengths, ascending and less than the whole, at which other prompts of this conversation are
            likely to part from this one: behind the instructions and behind each of the last messages. The tokens
            up to a boundary are those of the text up to it.
        images: to be looked at, in order; each knows its digest.
        spans: where the soft tokens of each image are.
        whole_images: a pass over the prompt must not cut an image.
        text: what was tokenized; an image is one placeholder in it. Nothing where token ids were sent.
        message_ends: for each message but the last, as the template was told them, the tokens up to the end of its
            words; to say which message a token belongs to.
    """

    tokens: tuple[int, ...]
    inside_thinking: bool = False
    boundaries: tuple[int, ...] = ()
    images: tuple[Pixels, ...] = ()
    spans: tuple[ImageSpan, ...] = ()
    whole_images: bool = False
    text: str = ""
    message_ends: tuple[int, ...] = ()

    @property
    def largest_image(self) -> int:
        """Return the soft tokens of its largest image; 0 without any."""
        return max((span.count for span in self.spans), default=0)


def prepare(
    request: GenerateRequest,
    *,
    template: ChatTemplate | None,
    tokenizer: Tokenizer,
    thinking: ThinkingFormat | None = None,
    sight: Sight | None = None,
) -> Prompt:
    """Return the prompt of a request: a conversation rendered, plain text encoded, token ids as they are.

    Args:
        request: what is asked.
        template: the model's; without one only plain text and token ids can be prepared.
        tokenizer: the model's.
        thinking: the model's format, if it thinks.
        sight: the model's, if it sees.

    Raises:
        BadRequest: when the prompt is empty, holds unknown ids, an image cannot be used, or the template refuses the
            conversation.
    """
    match request.prompt:
        case "":
            raise BadRequest("the prompt is empty; send at least one character", param="prompt")
        case str() as text:
            return Prompt(check_ids(tokenizer.encode(text, special=True), tokenizer), text=text)
        case ():
            raise BadRequest("the prompt is empty; send at least one message or token", param="prompt")
        case (int(), *_):
            return Prompt(check_ids(cast("tuple[int, ...]", request.prompt), tokenizer))
        case _:
            messages = cast("tuple[Message, ...]", request.prompt)
    return _prepare_chat(request, messages, template, tokenizer, thinking, sight)


def _prepare_chat(
    request: GenerateRequest,
    messages: Sequence[Message],
    template: ChatTemplate | None,
    tokenizer: Tokenizer,
    thinking: ThinkingFormat | None,
    sight: Sight | None,
) -> Prompt:
    if template is None:
        raise BadRequest(
            "this model has no chat template, so it takes no conversations; send plain text to a completions path",
            param="prompt",
        )
    try:
        rendering = render(request, messages, template, thinking)
    except RecursionError as error:
        raise BadRequest("a message or a tool's schema is nested too deeply", param="prompt") from error
    tokens, spans = tokenizer.encode_spans(rendering.text)
    if not tokens:
        raise BadRequest("the conversation renders to an empty prompt", param="prompt")
    starts = [start for start, _ in spans]
    prompt = Prompt(
        check_ids(tokens, tokenizer),
        inside_thinking=thinking is not None and ends_inside(rendering.text[rendering.history :], thinking),
        boundaries=stable_lengths(rendering.text, rendering.ends, tokens, spans, tokenizer),
        text=rendering.text,
        message_ends=tuple(bisect_left(starts, end) for end in rendering.words),
    )
    return _with_images(prompt, rendering.images, sight, tokenizer) if rendering.images else prompt


def _with_images(
    prompt: Prompt, images: Sequence[ImageBytes], sight: Sight | None, tokenizer: Tokenizer
) -> Prompt:
    if sight is None:
        raise BadRequest("this model cannot see; leave images out", param="prompt")
    looked = sight.look(images)
    expanded = sight.expand(prompt.tokens, looked, (*prompt.boundaries, *prompt.message_ends))
    count = len(prompt.boundaries)
    return replace(
        prompt,
        tokens=check_ids(expanded.tokens, tokenizer),
        boundaries=expanded.boundaries[:count],
        message_ends=expanded.boundaries[count:],
        images=looked,
        spans=expanded.spans,
        whole_images=sight.whole_images,
    )


def ends_inside(text: str, thinking: ThinkingFormat) -> bool:
    """Say whether ``text`` opens thinking and does not close it."""
    return text.rfind(thinking.open) > text.rfind(thinking.close)


def stable_lengths(
    text: str,
    ends: Sequence[int],
    tokens: Sequence[int],
    spans: Sequence[tuple[int, int]],
    tokenizer: Tokenizer,
) -> tuple[int, ...]:
    """Return the numbers of tokens that stand for ``text`` up to each of ``ends``, where there is such a number.

    A tokenizer cuts its added tokens out of the text before it does anything else. So the text up to an end has the
    same tokens as within the whole if the piece between the last added token before it and the end does, which is
    all that is encoded again here.

    Args:
        text: the prompt.
        ends: places in it, in characters, ascending.
        tokens: its tokens.
        spans: the characters of each token.
        tokenizer: which made them.
    """
    starts = [start for start, _ in spans]
    lengths: list[int] = []
    for end in ends:
        length = bisect_left(starts, end)
        anchor = _last_added(tokens, length, tokenizer.added_tokens)
        if not 0 < length < len(tokens) or spans[length - 1][1] > end:
            continue
        begin = starts[anchor] if anchor else 0
        if tokenizer.encode(text[begin:end]) == list(tokens[anchor:length]):
            lengths.append(length)
    return tuple(lengths)


def _last_added(tokens: Sequence[int], length: int, added: Mapping[int, str]) -> int:
    """Return the place of the last added token among the first ``length``; 0 if there is none."""
    return next((place for place in range(length - 1, -1, -1) if tokens[place] in added), 0)


def check_ids(ids: Sequence[int], tokenizer: Tokenizer) -> tuple[int, ...]:
    """Refuse ids that the network has no row for: wrong ones of a client, and added tokens it was not grown for."""
    for wrong in {min(ids), max(ids)}:
        if not 0 <= wrong < tokenizer.size:
            raise BadRequest(
                f"token id {wrong} is unknown to the model; its ids go from 0 to {tokenizer.size - 1}",
                param="prompt",
            )
    return tuple(ids)
