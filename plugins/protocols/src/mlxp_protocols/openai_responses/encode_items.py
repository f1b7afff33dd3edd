"""The items of an output while they are said: each begins, grows, and ends as it will stay.

Every method returns the events that tell it. A call is told when it is done, whole: clients take an item that was
announced for one that will be finished, and whether a call will be is known only then.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.types import TokenScore
from mlxp_protocols.openai_responses import wire_answer as wire
from mlxp_protocols.openai_responses import wire_events as events
from mlxp_protocols.openai_responses.offers import CUSTOM_INPUT, Offer
from mlxp_protocols.openai_responses.wire_answer import ItemStatus
from mlxp_protocols.openai_responses.wire_events import StreamEvent

CallItem = wire.FunctionCallItem | wire.CustomCallItem

_LEAST_LOGPROB = -9999.0  # JSON has no -inf


class Place(Struct, frozen=True):
    """Where an item stands.

    Attributes:
        stem: what makes its id unique.
        index: its place in the output.
        number: counts the events of the stream.
    """

    stem: str
    index: int
    number: Callable[[], int]

    def id(self, prefix: str) -> str:
        """Return the id of an item of some kind at this place."""
        return f"{prefix}_{self.stem}_{self.index}"


class OpenMessage:
    """A run of words; one part holds them all."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._id = place.id("msg")
        self._text: list[str] = []
        self._scores: list[wire.Logprob] = []

    def begin(self) -> list[StreamEvent]:
        """Announce the item and its part."""
        at, number = self._place.index, self._place.number
        item = wire.MessageItem(id=self._id, status="in_progress", content=())
        return [
            events.ItemAdded(number(), at, item),
            events.PartAdded(number(), self._id, at, 0, wire.OutputText("")),
        ]

    def add(self, text: str, scores: Sequence[wire.Logprob]) -> list[StreamEvent]:
        """Take more text, and the scores of the tokens it came from."""
        self._text.append(text)
        self._scores += scores
        return [events.Words(self._place.number(), self._id, self._place.index, 0, text, tuple(scores))]

    def end(self, status: ItemStatus, scores: Sequence[wire.Logprob]) -> list[StreamEvent]:
        """Finish the item; ``scores`` are of tokens that had no text."""
        self._scores += scores
        at, number, part = self._place.index, self._place.number, self._part()
        return [
            events.WordsDone(number(), self._id, at, 0, part.text, part.logprobs),
            events.PartDone(number(), self._id, at, 0, part),
            events.ItemDone(number(), at, self.item(status)),
        ]

    def item(self, status: ItemStatus) -> wire.MessageItem:
        """Return the item as it is now."""
        return wire.MessageItem(id=self._id, status=status, content=(self._part(),))

    def _part(self) -> wire.OutputText:
        return wire.OutputText("".join(self._text), logprobs=tuple(self._scores))


class OpenReasoning:
    """A run of reasoning; one summary part holds it all."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._id = place.id("rs")
        self._text: list[str] = []

    def begin(self) -> list[StreamEvent]:
        """Announce the item and its part."""
        at, number = self._place.index, self._place.number
        item = wire.ReasoningItem(id=self._id, status="in_progress", summary=())
        return [
            events.ItemAdded(number(), at, item),
            events.SummaryAdded(number(), self._id, at, 0, wire.SummaryText("")),
        ]

    def add(self, text: str) -> list[StreamEvent]:
        """Take more text."""
        self._text.append(text)
        return [events.Thoughts(self._place.number(), self._id, self._place.index, 0, text)]

    def end(self, status: ItemStatus) -> list[StreamEvent]:
        """Finish the item."""
        at, number, item = self._place.index, self._place.number, self.item(status)
        (part,) = item.summary
        return [
            events.ThoughtsDone(number(), self._id, at, 0, part.text),
            events.SummaryDone(number(), self._id, at, 0, part),
            events.ItemDone(number(), at, item),
        ]

    def item(self, status: ItemStatus) -> wire.ReasoningItem:
        """Return the item as it is now."""
        return wire.ReasoningItem(
            id=self._id, status=status, summary=(wire.SummaryText("".join(self._text)),)
        )


class OpenCall:
    """A call that is being said; nothing is told of it yet."""

    def __init__(self, call_id: str, offer: Offer) -> None:
        self._call_id = call_id
        self._offer = offer
        self._arguments: list[str] = []

    def add(self, fragment: str) -> None:
        """Take more of the arguments."""
        self._arguments.append(fragment)

    def end(self, place: Place) -> tuple[list[StreamEvent], CallItem]:
        """Finish the call, and tell it from its beginning."""
        arguments = "".join(self._arguments)
        match self._offer.kind:
            case "function":
                return self._tell_function(place, arguments)
            case "custom":
                return self._tell_custom(place, custom_input(arguments))

    def _tell_function(self, place: Place, arguments: str) -> tuple[list[StreamEvent], CallItem]:
        at, number = place.index, place.number
        item = wire.FunctionCallItem(
            id=place.id("fc"),
            status="completed",
            call_id=self._call_id,
            name=self._offer.name,
            arguments=arguments,
            namespace=self._offer.namespace,
        )
        return [
            events.ItemAdded(number(), at, replace(item, status="in_progress", arguments="")),
            events.Arguments(number(), item.id, at, arguments),
            events.ArgumentsDone(number(), item.id, at, arguments),
            events.ItemDone(number(), at, item),
        ], item

    def _tell_custom(self, place: Place, text: str) -> tuple[list[StreamEvent], CallItem]:
        at, number = place.index, place.number
        item = wire.CustomCallItem(
            id=place.id("ctc"),
            status="completed",
            call_id=self._call_id,
            name=self._offer.name,
            input=text,
            namespace=self._offer.namespace,
        )
        return [
            events.ItemAdded(number(), at, replace(item, status="in_progress", input="")),
            events.CustomInput(number(), item.id, at, text),
            events.CustomInputDone(number(), item.id, at, text),
            events.ItemDone(number(), at, item),
        ], item


OpenItem = OpenMessage | OpenReasoning | OpenCall


def custom_input(arguments: str) -> str:
    """Return the text inside the arguments of a custom tool; arguments of another form are the text themselves."""
    match msgspec.json.decode(arguments):
        case {**given} if list(given) == [CUSTOM_INPUT] and isinstance(text := given[CUSTOM_INPUT], str):
            return text
        case _:
            return arguments


def logprob_of(chosen: TokenScore, top: Sequence[TokenScore]) -> wire.Logprob:
    """Return a token's score with its rivals'."""
    rivals = [wire.TopLogprob(score.text, list(score.data), _finite(score.logprob)) for score in top]
    return wire.Logprob(chosen.text, list(chosen.data), _finite(chosen.logprob), rivals)


def _finite(logprob: float) -> float:
    return max(logprob, _LEAST_LOGPROB)
