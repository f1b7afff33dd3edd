"""What streams and whole answers say alike: ids, why they ended, usage, our extension."""

from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType

from mlxp_core.types import Finished, Reason, Usage
from mlxp_protocols.anthropic_messages import wire_answer as wire

_REASONS: Mapping[Reason, wire.StopReason] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "calls": "tool_use",
    "cancelled": "end_turn",
}


class Head(Struct, frozen=True, kw_only=True):
    """What an answer knows from its request.

    Attributes:
        request_id: of the HTTP request, for errors.
        shows_thinking: whether the words of the reasoning are told.
        explain_cache: whether the answer tells what the prompt cache did for it.
    """

    id: str
    model: str
    request_id: str | None = None
    shows_thinking: bool = True
    explain_cache: bool = False


def call_id_of(call_id: str) -> str:
    """Return the id of a call as this protocol spells it: ``toolu_...``."""
    return f"toolu_{call_id.removeprefix('call_')}"


def ending_of(event: Finished) -> wire.Ending:
    """Return why an answer ended; a stop sequence is told where it is what ended it."""
    if event.reason == "stop" and event.stop is not None:
        return wire.Ending("stop_sequence", event.stop)
    return wire.Ending(_REASONS[event.reason], None)


def usage_of(usage: Usage) -> wire.Usage:
    """Return the usage, in which cached tokens are no input tokens."""
    return wire.Usage(
        input_tokens=usage.prompt - usage.cached,
        cache_read_input_tokens=usage.cached,
        output_tokens=usage.completion,
        output_tokens_details=wire.OutputDetails(usage.thinking),
    )


def extension_of(head: Head, event: Finished, seed: int | None = None) -> wire.Extension | UnsetType:
    """Return what the protocol has no field for, if there is anything."""
    said = wire.Extension(
        seed=seed,
        cancelled=event.reason == "cancelled",
        warnings=event.warnings,
        cache=event.reuse if head.explain_cache else None,
    )
    return UNSET if said == wire.Extension() else said
