"""Events of the engine -> items of the output, one open at a time.

A call that breaks leaves no item behind; its markup follows as text.
"""

from collections.abc import Callable

from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Scored,
    TextDelta,
    ThinkingDelta,
)
from mlxp_protocols.openai_responses import wire_answer as wire
from mlxp_protocols.openai_responses.encode_items import (
    OpenCall,
    OpenItem,
    OpenMessage,
    OpenReasoning,
    Place,
    logprob_of,
)
from mlxp_protocols.openai_responses.offers import Offers, offer_of
from mlxp_protocols.openai_responses.wire_events import StreamEvent

Said = TextDelta | ThinkingDelta | CallStarted | CallDelta | CallDone | CallBroken | Scored


class Draft:
    """The output of one response as far as it is said.

    Args:
        stem: makes the ids of its items unique.
        offers: the tools that calls may mean.
        number: counts the events of the stream.
    """

    def __init__(self, stem: str, offers: Offers, number: Callable[[], int]) -> None:
        self._stem = stem
        self._offers = offers
        self._number = number
        self._items: list[wire.OutputItem] = []
        self._open: OpenItem | None = None
        self._scores: list[wire.Logprob] = []

    def take(self, event: Said) -> list[StreamEvent]:
        """Take what was said, and return the events that tell it."""
        match event:
            case TextDelta(text=text):
                return self._words(text)
            case ThinkingDelta(text=text):
                return self._thoughts(text)
            case CallStarted(id=call_id, name=name):
                said = self.close("completed")
                self._open = OpenCall(call_id, offer_of(self._offers, name))
                return said
            case CallDelta() | CallDone():
                return self._grow_call(event)
            case CallBroken(text=text):
                self._open = None
                return self._words(text) if text else []
            case Scored(chosen=chosen, top=top):
                self._scores.append(logprob_of(chosen, top))
                return []

    def close(self, status: wire.ItemStatus) -> list[StreamEvent]:
        """End the item that is open, if there is one; a call that is not done by now never will be."""
        match self._open:
            case OpenMessage() as message:
                said = message.end(status, self._taken_scores())
                self._items.append(message.item(status))
            case OpenReasoning() as reasoning:
                said = reasoning.end(status)
                self._items.append(reasoning.item(status))
            case _:
                said = []
        self._open = None
        return said

    def output(self, status: wire.ItemStatus) -> tuple[wire.OutputItem, ...]:
        """Return all items; one that is open has ``status``, and a call counts only when it is done."""
        match self._open:
            case OpenMessage() | OpenReasoning() as item:
                return (*self._items, item.item(status))
            case _:
                return tuple(self._items)

    def _words(self, text: str) -> list[StreamEvent]:
        match self._open:
            case OpenMessage() as message:
                return message.add(text, self._taken_scores())
            case _:
                said = self.close("completed")
                message = OpenMessage(self._place())
                self._open = message
                return [*said, *message.begin(), *message.add(text, self._taken_scores())]

    def _thoughts(self, text: str) -> list[StreamEvent]:
        match self._open:
            case OpenReasoning() as reasoning:
                return reasoning.add(text)
            case _:
                said = self.close("completed")
                reasoning = OpenReasoning(self._place())
                self._open = reasoning
                return [*said, *reasoning.begin(), *reasoning.add(text)]

    def _grow_call(self, event: CallDelta | CallDone) -> list[StreamEvent]:
        match self._open, event:
            case OpenCall() as call, CallDelta(arguments=fragment):
                call.add(fragment)
                return []
            case OpenCall() as call, CallDone():
                self._open = None
                said, item = call.end(self._place())
                self._items.append(item)
                return said
            case _:
                raise AssertionError(f"{event} outside a call; see the grammar of events")

    def _place(self) -> Place:
        return Place(self._stem, len(self._items), self._number)

    def _taken_scores(self) -> list[wire.Logprob]:
        scores, self._scores = self._scores, []
        return scores
