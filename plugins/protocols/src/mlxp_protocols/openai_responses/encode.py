"""Events of the engine -> one response and the events that tell it; what streams and whole answers share."""

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from mlxp_core.types import Failed, Finished, Prefilled, Started, Usage
from mlxp_protocols.openai_responses import errors
from mlxp_protocols.openai_responses import wire_answer as wire
from mlxp_protocols.openai_responses import wire_events as events
from mlxp_protocols.openai_responses.encode_output import Draft, Said
from mlxp_protocols.openai_responses.offers import Offers
from mlxp_protocols.openai_responses.wire_events import StreamEvent

Keep = Callable[[wire.Response], object]
"""Stores a response that ended."""


class Teller:
    """Tells one response.

    Args:
        blank: the response before anything was said.
        stem: makes the ids of its items unique.
        offers: the tools that calls may mean.
        now: the clock, in seconds since 1970.
        keep: called with the response when it has ended without a failure.
        explain_cache: whether it tells what the prompt cache did for it.
    """

    def __init__(
        self,
        blank: wire.Response,
        stem: str,
        offers: Offers,
        *,
        now: Callable[[], float],
        keep: Keep,
        explain_cache: bool = False,
    ) -> None:
        self.response = blank
        self._number = count().__next__
        self._draft = Draft(stem, offers, self._number)
        self._now = now
        self._keep = keep
        self._explain_cache = explain_cache
        self._begun = False

    def take(self, event: Said | Started | Prefilled | Finished) -> list[StreamEvent]:
        """Take one event of the engine, and return the events that tell it."""
        match event:
            case Started(model=model, seed=seed):
                self.response = replace(self.response, model=model, mlxp=wire.Extension(seed=seed))
                return self.begin()
            case Prefilled():
                return []
            case Finished():
                return [*self.begin(), *self._finish(event)]
            case _:
                return self._draft.take(event)

    def begin(self) -> list[StreamEvent]:
        """Say that there is a response, once."""
        if self._begun:
            return []
        self._begun = True
        return [
            events.Created(self._number(), self.response),
            events.InProgress(self._number(), self.response),
        ]

    def remind(self) -> list[StreamEvent]:
        """Say once more how far the response is."""
        if not self._begun:
            return self.begin()
        so_far = replace(self.response, output=self._draft.output("in_progress"))
        return [events.InProgress(self._number(), so_far)]

    def fail(self, event: Failed) -> list[StreamEvent]:
        """End with a failure; such a response is not kept."""
        failed = replace(
            self.response,
            status="failed",
            error=errors.fault_of(event),
            output=self._draft.output("incomplete"),
        )
        return [*self.begin(), events.Broke(self._number(), failed)]

    def _finish(self, event: Finished) -> list[StreamEvent]:
        whole = event.reason in {"stop", "calls"}
        said = self._draft.close("completed" if whole else "incomplete")
        self.response = self._ended(event)
        self._keep(self.response)
        last = events.Completed if whole else events.Incomplete
        return [*said, last(self._number(), self.response)]

    def _ended(self, event: Finished) -> wire.Response:
        status, details, completed_at = _outcome(event, self._now)
        extension = replace(
            self.response.mlxp,
            stop=event.stop,
            warnings=event.warnings,
            cache=event.reuse if self._explain_cache else None,
        )
        return replace(
            self.response,
            status=status,
            incomplete_details=details,
            completed_at=completed_at,
            output=self._draft.output("incomplete"),
            usage=_usage(event.usage),
            mlxp=extension,
        )


def _outcome(
    event: Finished, now: Callable[[], float]
) -> tuple[wire.Status, wire.IncompleteDetails | None, int | None]:
    match event.reason:
        case "stop" | "calls":
            return "completed", None, int(now())
        case "length":
            return "incomplete", wire.IncompleteDetails("max_output_tokens"), None
        case "cancelled":
            return "cancelled", None, None


def _usage(usage: Usage) -> wire.Usage:
    return wire.Usage(
        input_tokens=usage.prompt,
        input_tokens_details=wire.InputDetails(cached_tokens=usage.cached),
        output_tokens=usage.completion,
        output_tokens_details=wire.OutputDetails(reasoning_tokens=usage.thinking),
        total_tokens=usage.prompt + usage.completion,
    )
