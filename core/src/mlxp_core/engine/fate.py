"""What becomes of an engine whose thread has died: it begins again, the server ends, or everything stays as it is."""

from collections import deque
from collections.abc import Callable
from typing import Literal

Policy = Literal["stay", "restart", "exit"]

MOST_RESTARTS = 5
"""Within ``WITHIN_S``; what dies more often than that, another life will not mend."""

WITHIN_S = 600.0

CALLS: dict[Policy, str] = {
    "stay": "the server must be restarted",
    "restart": "it begins again; send the request once more",
    "exit": "the server ends; send the request to another one, or again later",
}
"""What clients are told, whose answers it was in the middle of."""


class Fate:
    """Decides after each death, and remembers how often it let the engine begin again."""

    def __init__(self, policy: Policy, clock: Callable[[], float]) -> None:
        """Decide as the setting says; ``clock`` returns seconds that only grow."""
        self._policy = policy
        self._clock = clock
        self._restarts_s: deque[float] = deque(maxlen=MOST_RESTARTS)

    def decide(self, *, served: bool) -> Policy:
        """Return what is to be done; to restart is given up where the engine died without having been ready."""
        if self._policy != "restart":
            return self._policy
        now_s = self._clock()
        often = len(self._restarts_s) == MOST_RESTARTS and now_s - self._restarts_s[0] < WITHIN_S
        if often or not served:
            return "exit"
        self._restarts_s.append(now_s)
        return "restart"
