"""The grammar of events, as a law to hold a run of them against; see ``mlxp_core.types.events``."""

import json
from collections.abc import Iterable

from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Scored,
    Started,
    TextDelta,
    ThinkingDelta,
)


def check_grammar(events: Iterable[Event], *, choices: int = 1, complete: bool = True) -> None:
    """Assert that the events of one request follow the grammar, choice by choice.

    Args:
        events: in the order they were said; choices may interleave.
        choices: how many there are.
        complete: each choice must have ended.

    Raises:
        AssertionError: which choice broke which rule.
    """
    walks = {choice: _Walk(choice) for choice in range(choices)}
    for event in events:
        assert event.choice in walks, f"choice {event.choice} of {choices}: {event}"
        walks[event.choice].take(event)
    if complete:
        unended = [choice for choice, walk in walks.items() if walk.place != "ended"]
        assert not unended, f"choices {unended} have no last event"


class _Walk:
    """One choice's way through the grammar: at the door, with a row, speaking, inside a call, ended."""

    def __init__(self, choice: int) -> None:
        self.place = "door"
        self._choice = choice
        self._done = 0  # prompt tokens read
        self._total: int | None = None
        self._calls = 0
        self._complete_calls = 0
        self._arguments = ""

    def take(self, event: Event) -> None:
        """Go one event further."""
        assert self.place != "ended", f"choice {self._choice}: {event} after the last event"
        match event:
            case Started():
                self._move({"door"}, "row", event)
            case Prefilled():
                self._move({"row"}, "row", event)
                self._progress(event)
            case TextDelta(text) | ThinkingDelta(text):
                self._move({"row", "speaking"}, "speaking", event)
                assert text, f"choice {self._choice}: an empty delta"
            case Scored():
                self._move({"row", "speaking"}, "speaking", event)
            case CallStarted() | CallDelta() | CallDone() | CallBroken():
                self._call(event)
            case Finished():
                self._finish(event)
            case Failed():
                self.place = "ended"

    def _progress(self, event: Prefilled) -> None:
        assert self._total in {None, event.total}, (
            f"choice {self._choice}: the prompt changed its length: {event}"
        )
        assert self._done <= event.done <= event.total, (
            f"choice {self._choice}: progress goes backwards: {event}"
        )
        assert 0 <= event.cached <= event.total, f"choice {self._choice}: more cached than there is: {event}"
        self._done, self._total = event.done, event.total

    def _call(self, event: CallStarted | CallDelta | CallDone | CallBroken) -> None:
        if isinstance(event, CallStarted):
            self._move({"row", "speaking"}, "call", event)
            assert event.index == self._calls, (
                f"choice {self._choice}: call {self._calls} has index {event.index}"
            )
            assert event.name, f"choice {self._choice}: a call without a name"
            self._calls += 1
            self._arguments = ""
            return
        self._move({"call"}, "call" if isinstance(event, CallDelta) else "speaking", event)
        assert event.index == self._calls - 1, f"choice {self._choice}: calls interleave: {event}"
        match event:
            case CallDelta(_, fragment):
                self._arguments += fragment
            case CallDone():
                arguments = json.loads(self._arguments)
                assert isinstance(arguments, dict), (
                    f"choice {self._choice}: arguments are no object: {arguments}"
                )
                self._complete_calls += 1
            case CallBroken():
                pass

    def _finish(self, event: Finished) -> None:
        self._move({"door", "row", "speaking"}, "ended", event)
        usage, total = event.usage, self._total
        assert event.reason != "calls" or self._complete_calls, f"choice {self._choice}: no call, but {event}"
        assert event.stop is None or event.reason == "stop", (
            f"choice {self._choice}: stopped by a string, but {event}"
        )
        assert 0 <= usage.thinking <= usage.completion, f"choice {self._choice}: {usage}"
        assert 0 <= usage.cached <= usage.prompt, f"choice {self._choice}: {usage}"
        assert min(event.timing.queued_s, event.timing.prefill_s, event.timing.decode_s) >= 0, event.timing
        if event.reason != "cancelled":
            assert total in {None, usage.prompt}, f"choice {self._choice}: {total} prompt tokens, but {usage}"
            assert self._done == (total or 0), f"choice {self._choice}: the prompt was not read to its end"

    def _move(self, origins: set[str], target: str, event: Event) -> None:
        assert self.place in origins, f"choice {self._choice}: {event} when at {self.place!r}"
        assert self.place != "door" or _may_open(event), f"choice {self._choice} begins with {event}"
        self.place = target


def _may_open(event: Event) -> bool:
    return isinstance(event, Started) or (isinstance(event, Finished) and event.reason == "cancelled")
