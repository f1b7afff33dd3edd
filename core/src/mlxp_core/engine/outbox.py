"""What sequences have to say, until the step's hand-over; and who has ended."""

from collections.abc import Callable, Iterable

from mlxp_core.engine.mailbox import Deliveries, Sink
from mlxp_core.engine.sequence import Sequence
from mlxp_core.errors import MlxpError
from mlxp_core.types import Event, RequestRecord


class Outbox:
    """Events for each sink and records of those that ended, in the order of their saying.

    Attributes:
        ended: something has ended that the runner has not freed yet.
    """

    def __init__(self, clock: Callable[[], float], *, record: Callable[[RequestRecord], object]) -> None:
        """Begin with nothing to say.

        Args:
            clock: seconds that only grow.
            record: told at once of each sequence that ends.
        """
        self.ended = False
        self._clock = clock
        self._record = record
        self._said: dict[int, tuple[Sink, list[Event]]] = {}
        self._records: list[RequestRecord] = []

    def say(self, sequence: Sequence, events: list[Event] | MlxpError) -> None:
        """Keep what a sequence says; if saying it failed, that is what there is to say."""
        match events:
            case MlxpError() as fault:
                said = sequence.fail(fault, self._clock())
            case _:
                said = events
        if said:
            self._said.setdefault(sequence.key, (sequence.order.sink, []))[1].extend(said)
        if sequence.ended:
            self.ended = True
            record = sequence.record()
            self._records.append(record)
            self._record(record)

    def fail(self, sequences: Iterable[Sequence], fault: MlxpError, *, spoilt: bool = False) -> None:
        """Fail sequences; ``spoilt`` = in the middle of a step, so that what they hold may be half done."""
        now_s = self._clock()
        for sequence in sequences:
            sequence.spoilt = spoilt
            if not sequence.ended:  # as by the draw before the one that failed
                self.say(sequence, sequence.fail(fault, now_s))

    def hand_over(self, replies: tuple[Callable[[], object], ...]) -> Deliveries:
        """Return all there is to say since the last time, and ``replies`` with it."""
        deliveries = Deliveries(tuple(self._said.values()), tuple(self._records), replies)
        self._said, self._records = {}, []
        return deliveries
