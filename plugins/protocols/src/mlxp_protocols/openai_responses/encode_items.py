"""The items of an output while they are said: each begins, grows, and ends as it will stay.

Every method returns the events that tell it. Arguments of a call become complete JSON only when the call is done: a
closing brace at the end of what was said is held back until then, so a call that breaks never looks finished.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from mlxp_core.types import TokenScore
from mlxp_protocols.openai_responses import wire_answer as wire
from mlxp_protocols.openai_responses import wire_events as events
from mlxp_protocols.openai_responses.offers import CUSTOM_INPUT, Offer
from mlxp_protocols.openai_responses.wire_answer import ItemStatus
from mlxp_protocols.openai_responses.wire_events import StreamEvent

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


class OpenFunctionCall:
    """A call of a function, told in fragments of JSON text."""

    def __init__(self, place: Place, call_id: str, offer: Offer) -> None:
        self._place = place
        self._id = place.id("fc")
        self._call_id = call_id
        self._offer = offer
        self._arguments: list[str] = []
        self._held = ""

    def begin(self) -> list[StreamEvent]:
        """Announce the call by its name."""
        return [events.ItemAdded(self._place.number(), self._place.index, self._item("in_progress"))]

    def add(self, fragment: str) -> list[StreamEvent]:
        """Take more of the arguments."""
        said = self._held + fragment
        end = said.rstrip()
        cut = len(end) - 1 if end.endswith("}") else len(said)
        self._held = said[cut:]
        return self._tell(said[:cut])

    def end(self) -> tuple[list[StreamEvent], wire.FunctionCallItem]:
        """Finish the call."""
        told = self._tell(self._held)
        at, number, item = self._place.index, self._place.number, self._item("completed")
        return [
            *told,
            events.ArgumentsDone(number(), self._id, at, item.arguments),
            events.ItemDone(number(), at, item),
        ], item

    def _tell(self, fragment: str) -> list[StreamEvent]:
        if not fragment:
            return []
        self._arguments.append(fragment)
        return [events.Arguments(self._place.number(), self._id, self._place.index, fragment)]

    def _item(self, status: ItemStatus) -> wire.FunctionCallItem:
        return wire.FunctionCallItem(
            id=self._id,
            status=status,
            call_id=self._call_id,
            name=self._offer.name,
            arguments="".join(self._arguments),
            namespace=self._offer.namespace,
        )


class OpenCustomCall:
    """A call of a custom tool. Its text stands inside a JSON string, so it is told when the string is whole."""

    def __init__(self, place: Place, call_id: str, offer: Offer) -> None:
        self._place = place
        self._id = place.id("ctc")
        self._call_id = call_id
        self._offer = offer
        self._arguments: list[str] = []

    def begin(self) -> list[StreamEvent]:
        """Announce the call by its name."""
        return [events.ItemAdded(self._place.number(), self._place.index, self._item("in_progress", ""))]

    def add(self, fragment: str) -> list[StreamEvent]:
        """Take more of the arguments; there is nothing to tell yet."""
        self._arguments.append(fragment)
        return []

    def end(self) -> tuple[list[StreamEvent], wire.CustomCallItem]:
        """Finish the call."""
        item = self._item("completed", custom_input("".join(self._arguments)))
        at, number = self._place.index, self._place.number
        return [
            events.CustomInput(number(), self._id, at, item.input),
            events.CustomInputDone(number(), self._id, at, item.input),
            events.ItemDone(number(), at, item),
        ], item

    def _item(self, status: ItemStatus, text: str) -> wire.CustomCallItem:
        return wire.CustomCallItem(
            id=self._id,
            status=status,
            call_id=self._call_id,
            name=self._offer.name,
            input=text,
            namespace=self._offer.namespace,
        )


OpenCall = OpenFunctionCall | OpenCustomCall
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
