"""Where the time between two decode steps goes: what the host does, and how long it waits for the device.

While a batch goes on, the host reads tokens, tells them, decides, builds the next pass, and reads again. It is one step
ahead, so the device waits only for what the host needs beyond the device's own time. Where the host hardly ever waits
in reading, the device does.
"""

from collections.abc import Callable

from msgspec import Struct


class Times(Struct, frozen=True):
    """Seconds of one step.

    Attributes:
        host_s: from the reading before to the dispatch of this step: all that the host did in between.
        build_s: of that, joining, leaving and building the pass.
        device_s: that the host then waited in reading.
    """

    host_s: float = 0.0
    build_s: float = 0.0
    device_s: float = 0.0


class Pulse:
    """Takes the times of a runner's steps."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin without a batch; ``clock`` returns seconds that only grow."""
        self._clock = clock
        self._read_s: float | None = None  # when tokens were read last, while the batch goes on
        self._begun_s = 0.0
        self._host_s = self._build_s = self._device_s = 0.0

    def begin(self) -> None:
        """Note that a pass is about to be built."""
        self._begun_s = self._clock()

    def dispatched(self) -> None:
        """Note that it is under way."""
        now_s = self._clock()
        self._build_s = now_s - self._begun_s
        self._host_s = 0.0 if self._read_s is None else now_s - self._read_s

    def reading(self) -> None:
        """Note that tokens are about to be waited for."""
        self._begun_s = self._clock()

    def read(self, *, going_on: bool) -> None:
        """Note that they have come; ``going_on`` = the batch does."""
        now_s = self._clock()
        self._device_s += now_s - self._begun_s
        self._read_s = now_s if going_on else None

    def pause(self) -> None:
        """Note that what comes before the next dispatch is not the host at work on the batch."""
        self._read_s = None

    def take(self) -> Times:
        """Return the times of the step that ends here."""
        times = Times(self._host_s, self._build_s, self._device_s)
        self._host_s = self._build_s = self._device_s = 0.0
        return times
