"""Make a conversation one that the model's template takes, losing nothing of what was said.

Clients send conversations that templates refuse: system messages in the middle, results out of order, calls split
over messages, arguments as text. The rules here, in this order; each is a function from messages to messages:

1. Results stand alone: a message with results is cut into one message per result and the rest.
2. Where the template takes no system messages in the middle, all are joined at the beginning; where it takes none at
   all, they open the first user message.
3. Assistant messages that follow each other become one, so that calls made together stay together; system messages too.
4. Results move right behind the calls that they answer, in the order of the calls. A result that answers no call is
   kept as words of the user. Then rule 3 again, as results may have stood between.
5. Where the template shows no images in results, they follow in a message of the user behind the results.
6. User messages that follow each other become one where the template demands alternation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from msgspec.structs import replace

from mlxp_core.prompting.traits import TemplateTraits
from mlxp_core.types import Call, ImageBytes, ImageUrl, Message, Part, Result, Role, Text

_BELOW = Text("The result is the image below.")

Rule = Callable[[Sequence[Message]], list[Message]]

_GAP = Text("\n\n")
"""Stands between the texts of messages that become one."""


def normalize(messages: Sequence[Message], traits: TemplateTraits) -> list[Message]:
    """Apply the rules above; the input is left as it is.

    Args:
        messages: the conversation as the client sent it.
        traits: what the template takes.

    Returns:
        The conversation to render: results stand one to a message, right behind their calls.
    """
    told = join_turns(fold_system(isolate_results(messages), traits), "system", "assistant")
    paired = join_turns(pair_results(told), "system", "assistant")
    shown = paired if traits.images_in_results else show_results(paired)
    return shown if traits.repeated else join_turns(shown, "user")


def isolate_results(messages: Sequence[Message]) -> list[Message]:
    """Put every result in a message of its own, ahead of the rest of its message."""
    out: list[Message] = []
    for message in messages:
        results = [part for part in message.parts if _is_result(part)]
        out.extend(Message("tool", (part,), message.name) for part in results)
        rest = tuple(part for part in message.parts if not _is_result(part))
        if message.role == "tool":
            out.extend([Message("user", rest)] if rest else [])
        elif rest or not results:
            out.append(replace(message, parts=rest))
    return out


def fold_system(messages: Sequence[Message], traits: TemplateTraits) -> list[Message]:
    """Move system messages to where the template takes them."""
    if traits.system and traits.late_system:
        return [*messages]
    system = [message for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if not system:
        return others
    head = _joined(system)
    if traits.system:
        return [head, *others]
    first = next((place for place, message in enumerate(others) if message.role == "user"), None)
    if first is None:
        return [replace(head, role="user"), *others]
    opened = replace(others[first], parts=(*head.parts, _GAP, *others[first].parts))
    return [*others[:first], opened, *others[first + 1 :]]


def join_turns(messages: Sequence[Message], *roles: Role) -> list[Message]:
    """Join neighbouring messages of one role into one, for each of ``roles``."""
    out: list[Message] = []
    for speaker, run in groupby(messages, key=lambda message: message.role):
        turn = list(run)
        out.extend([_joined(turn)] if speaker in roles else turn)
    return out


def pair_results(messages: Sequence[Message]) -> list[Message]:
    """Move results behind their calls, in the order of the calls; turn those without a call into user messages."""
    turns: list[_Turn] = []
    asked: dict[str, _Turn] = {}
    latest: _Turn | None = None
    for message in messages:
        match message.parts:
            case (Result() as result,):
                turn = asked.get(result.call_id) if result.call_id else latest
                if turn is None or not turn.answer(result, message):
                    turns.append(_Turn(_orphan(result)))
            case _:
                turn = _Turn(message)
                turns.append(turn)
                if turn.calls:
                    latest = turn
                    asked.update(dict.fromkeys(turn.calls, turn))
    return [message for turn in turns for message in turn.messages()]


def show_results(messages: Sequence[Message]) -> list[Message]:
    """Move images out of results, into a message of the user behind each run of results."""
    out: list[Message] = []
    pictures: list[Part] = []
    for message in messages:
        match message.parts:
            case (Result(parts=parts) as result,) if any(map(_is_image, parts)):
                words = tuple(part for part in parts if not _is_image(part)) or (_BELOW,)
                out.append(replace(message, parts=(replace(result, parts=words),)))
                pictures += [part for part in parts if _is_image(part)]
            case (Result(),):
                out.append(message)
            case _:
                out += _pictures(pictures)
                pictures = []
                out.append(message)
    return out + _pictures(pictures)


class _Turn:
    """A message, and the results that answer its calls."""

    def __init__(self, message: Message) -> None:
        self.message = message
        calls = message.parts if message.role == "assistant" else ()
        self.calls = [part.id for part in calls if isinstance(part, Call)]
        self._answers: list[tuple[int, Message]] = []

    def answer(self, result: Result, message: Message) -> bool:
        """Take the result of one of the calls; one without an id goes to the first call still open."""
        answered = {place for place, _ in self._answers}
        free = (
            place for place, call in enumerate(self.calls) if call == result.call_id or not result.call_id
        )
        places = list(free)
        place = next(
            (place for place in places if place not in answered), places[0] if result.call_id else None
        )
        if place is None:
            return False
        if not result.call_id:
            message = replace(message, parts=(replace(result, call_id=self.calls[place]),))
        self._answers.append((place, message))
        return True

    def messages(self) -> Iterable[Message]:
        """Return the message and its results."""
        yield self.message
        yield from (message for _, message in sorted(self._answers, key=lambda answer: answer[0]))


def _joined(messages: Sequence[Message]) -> Message:
    """Join messages of one role; texts of different messages are a blank line apart."""
    parts: list[Part] = []
    spoken = False
    for message in messages:
        says = any(isinstance(part, Text) and part.text for part in message.parts)
        parts += [_GAP] if says and spoken else []
        parts += message.parts
        spoken = spoken or says
    return replace(messages[0], parts=tuple(parts))


def _orphan(result: Result) -> Message:
    """Say as user what a result says whose call is not in the conversation."""
    return Message("user", (Text("Tool result:\n"), *result.parts))


def _pictures(images: Sequence[Part]) -> list[Message]:
    return [Message("user", (Text("Images of the tool results:\n"), *images))] if images else []


def _is_result(part: Part) -> bool:
    return isinstance(part, Result)


def _is_image(part: Part) -> bool:
    return isinstance(part, ImageBytes | ImageUrl)
