"""How long a job will still take, by how fast it has been."""

from __future__ import annotations

_INERTIA = 0.7
"""Weight of the past in the pace."""


class Pace:
    """Watches the share that is done; time in which the job was paused does not count."""

    def __init__(self) -> None:
        """Begin without any idea."""
        self._last: tuple[float, float] | None = None
        self._per_s: float | None = None
        self._paused_s = 0.0

    def pause(self, seconds: float) -> None:
        """Leave out so many seconds."""
        self._paused_s += seconds

    def left_s(self, fraction: float, now_s: float) -> float | None:
        """Return the seconds that are left.

        Args:
            fraction: of the whole that is done.
            now_s: seconds that only grow.
        """
        worked_s = now_s - self._paused_s
        if self._last is not None:
            done, took_s = fraction - self._last[0], worked_s - self._last[1]
            if done > 0 and took_s > 0:
                pace = done / took_s
                self._per_s = pace if self._per_s is None else _INERTIA * self._per_s + (1 - _INERTIA) * pace
                self._last = (fraction, worked_s)
        else:
            self._last = (fraction, worked_s)
        if self._per_s is None:
            return None
        return round(max(0.0, (1 - fraction) / self._per_s), 1)
