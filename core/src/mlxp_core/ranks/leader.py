"""The first rank's side: it knows the others, leads them, and learns when one has gone."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping

import mlx.core as mx
from msgspec.structs import replace

from mlxp_core.errors import ModelFolderError, Unavailable
from mlxp_core.loading.network import Network
from mlxp_core.ranks.group import Group
from mlxp_core.ranks.led import Led
from mlxp_core.ranks.lines import LeadersLine
from mlxp_core.ranks.messages import Answer, Load, Loaded, Message, Refused, Stop, Unload
from mlxp_core.ranks.mirror import Ledger
from mlxp_core.ranks.part import Progress, Source, load_part

Lost = Callable[[Unavailable], object]


class Leader:
    """All other ranks. ``load``, and what is loaded, belong to the engine thread; the rest to anybody.

    Attributes:
        group: the ranks, this one included.
        parts: model -> what each rank said of its part when it was loaded last.
    """

    def __init__(self, group: Group, lines: Mapping[int, LeadersLine]) -> None:
        """Lead the ranks at the other ends of ``lines``."""
        self.group = group
        self.parts: dict[str, dict[int, Loaded]] = {}
        self._lines = lines
        self._ledger = Ledger()
        self._answers: queue.SimpleQueue[tuple[int, Answer] | Unavailable] = queue.SimpleQueue()
        self._change = threading.Lock()  # of the next two
        self._fault: Unavailable | None = None
        self._listeners: list[Lost] = []
        self._closing = False
        for rank, line in lines.items():
            threading.Thread(
                target=self._listen, args=(rank, line), name=f"mlxp-rank-{rank}", daemon=True
            ).start()

    def watch(self, lost: Lost) -> None:
        """Have somebody told, on any thread and once, when the ranks can no longer compute together."""
        with self._change:
            self._listeners.append(lost)
            fault = self._fault
        if fault is not None:
            lost(fault)

    def part_ways(self, why: str) -> None:
        """Say that the ranks can no longer compute together; whatever is asked of them from now on fails."""
        fault = Unavailable(why)
        with self._change:
            if self._fault is not None or self._closing:
                return
            self._fault, listeners = fault, tuple(self._listeners)
        self._answers.put(fault)
        for told in listeners:
            told(fault)

    def give_up(self) -> None:
        """Part ways because something could not be computed here: nobody knows what the others wait for.

        Raises:
            Unavailable: always.
        """
        self.part_ways("something could not be computed on rank 0")
        raise self._unavailable()

    def load(self, model: str, source: Source, progress: Progress | None = None) -> Network:
        """Have every rank load its part of a model.

        Args:
            model: what it is called.
            source: what the parts are loaded from.
            progress: told of this rank's part.

        Raises:
            MlxpError: a part cannot be loaded; none is, then.
            Unavailable: a rank has gone.
        """
        number = self._ledger.number()
        self._tell(Load(model, source.fingerprint, number))
        try:
            own, read_bytes = load_part(source, self.group, progress)
        except Unavailable:
            raise  # this rank is about to stop, and nobody loads anything after it
        except Exception:
            self._heard_of_all()
            self._tell(Unload(number))
            raise
        answers = self._heard_of_all()
        refused = [f"rank {rank}: {each.why}" for rank, each in answers.items() if isinstance(each, Refused)]
        if refused:
            self._tell(Unload(number))
            raise ModelFolderError(refused[0])
        loaded = {rank: each for rank, each in answers.items() if isinstance(each, Loaded)}
        self.parts[model] = {0: Loaded(own.weight_bytes, read_bytes), **loaded}
        led = Led(number, own, self.group, self._ledger, self._together)
        self._ledger.note_with(led, Unload(number))
        return replace(own, model=led)

    def close(self) -> None:
        """Send everybody home."""
        with self._change:
            self._closing = True
        for line in self._lines.values():
            try:
                line.send([Stop()])
            except OSError:
                continue  # gone already
            finally:
                line.close()

    def _together(self, message: Message, build: Callable[[], mx.array]) -> mx.array:
        """Have all ranks compute something, and set this one's device to work on it.

        Once the others have been told, they wait for this rank: should it fail to build its part, all is over.
        """
        self._tell(message)
        try:
            array = build()
            mx.async_eval(array)
        except Exception as error:
            self.part_ways(f"rank 0 could not compute what it had told the others to ({error})")
            raise
        return array

    def _tell(self, message: Message) -> None:
        if self._fault is not None:
            raise self._unavailable()
        messages = [*self._ledger.news(), message]
        for rank, line in self._lines.items():
            try:
                line.send(messages)
            except OSError as error:
                self.part_ways(f"rank {rank} cannot be reached ({error})")
                raise self._unavailable() from error

    def _unavailable(self) -> Unavailable:
        """Return a new error that says why; the first one is somebody else's to raise."""
        why = self._fault.message if self._fault is not None else "the ranks are about to stop"
        return Unavailable(f"{why}; send the request to another server, or again later")

    def _heard_of_all(self) -> dict[int, Answer]:
        """Wait for one answer of each rank."""
        heard: dict[int, Answer] = {}
        while len(heard) < len(self._lines):
            match self._answers.get():
                case Unavailable():
                    raise self._unavailable()
                case rank, answer:
                    heard[rank] = answer
        return heard

    def _listen(self, rank: int, line: LeadersLine) -> None:
        """Pass on what a rank says, until it has gone."""
        while (answers := line.receive()) is not None:
            for answer in answers:
                self._answers.put((rank, answer))
        self.part_ways(f"rank {rank} has gone")
