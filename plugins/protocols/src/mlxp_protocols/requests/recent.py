"""The choices that ended last."""

from collections import deque
from collections.abc import Callable

from mlxp_core.types import RequestRecord
from mlxp_protocols.requests.wire import EndedChoice

KEPT = 200


class Recent:
    """As many as are kept. Belongs to the event-loop thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Begin with none; ``now`` returns seconds since 1970."""
        self._now = now
        self._ended: deque[EndedChoice] = deque(maxlen=KEPT)

    def add(self, record: RequestRecord) -> None:
        """Remember a choice that has just ended."""
        usage, timing = record.usage, record.timing
        self._ended.appendleft(
            EndedChoice(
                id=record.request_id,
                choice=record.choice,
                protocol=record.protocol,
                model=record.model,
                adapters=record.adapters,
                ended_at=round(self._now() * 1000),
                reason=record.reason,
                error=record.error,
                seed=record.seed,
                prompt_tokens=usage.prompt,
                cached_tokens=usage.cached,
                cause=None if record.reuse is None else record.reuse.cause,
                completion_tokens=usage.completion,
                thinking_tokens=usage.thinking,
                guessed_tokens=usage.guessed,
                accepted_tokens=usage.accepted,
                queued_s=timing.queued_s,
                prefill_s=timing.prefill_s,
                decode_s=timing.decode_s,
            )
        )

    def newest(self, count: int) -> tuple[EndedChoice, ...]:
        """Return at most ``count``, newest first."""
        return tuple(self._ended)[:count]
