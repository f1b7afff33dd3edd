"""Responses kept for a while, so that a conversation can go on from one of them.

Each turn holds its own new items and the turn it went on from, so a long conversation is not stored once per turn. A
turn is listed for a fixed time from its creation. The turns behind a listed one stay with it, listed or not, and
their bytes count as long. When there is no room, the conversation that was used longest ago loses its last turn
first; a turn that would not fit with all that is behind it is not kept.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock

import msgspec
from msgspec import Raw, Struct


class _OutputOf(Struct, frozen=True):
    output: tuple[Raw, ...]


class _IdOf(Struct, frozen=True):
    id: str


class Turn(Struct, frozen=True, eq=False):
    """One response and what it answered.

    Attributes:
        id: the response's.
        body: the response as JSON.
        given: its new input items as JSON, each with an id.
        parent: the turn it went on from.
    """

    id: str
    body: bytes
    given: tuple[Raw, ...] = ()
    parent: "Turn | None" = None

    @property
    def size(self) -> int:
        """Return the bytes of its own, in UTF-8."""
        return len(self.body) + sum(len(bytes(item)) for item in self.given)

    def output(self) -> tuple[Raw, ...]:
        """Return the items of its output."""
        return msgspec.json.decode(self.body, type=_OutputOf).output

    def before(self) -> list[Raw]:
        """Return all items that it answered: the turns behind it, then its own input."""
        behind = list(self.chain())[1:]
        told = [item for turn in reversed(behind) for item in (*turn.given, *turn.output())]
        return [*told, *self.given]

    def after(self) -> list[Raw]:
        """Return all items that a turn after it goes on from."""
        return [*self.before(), *self.output()]

    def chain(self) -> "Iterator[Turn]":
        """Yield this turn and those behind it, the newest first."""
        turn: Turn | None = self
        while turn is not None:
            yield turn
            turn = turn.parent


class ResponseStore:
    """Keeps turns. Bodies may be decoded on any thread, hence the lock.

    Args:
        keep_s: how long a turn is listed.
        keep_bytes: most bytes of all turns.
        clock: monotonic seconds.
    """

    def __init__(self, *, keep_s: float, keep_bytes: int, clock: Callable[[], float]) -> None:
        self._keep_s = keep_s
        self._keep_bytes = keep_bytes
        self._clock = clock
        self._listed: dict[str, Turn] = {}
        self._leaves: OrderedDict[str, Turn] = (
            OrderedDict()
        )  # listed and last of a conversation; latest use last
        self._born: OrderedDict[str, float] = OrderedDict()  # of the listed, by age
        self._holders: dict[Turn, int] = {}  # of every turn here: how many turns here go on from it
        self._places: dict[str, Turn] = {}  # id of an item -> the listed turn that holds it
        self._lock = Lock()
        self.nbytes = 0

    def get(self, turn_id: str) -> Turn | None:
        """Return a turn that is listed, and count it as used."""
        with self._lock:
            self._expire()
            turn = self._listed.get(turn_id)
            if turn_id in self._leaves:
                self._leaves.move_to_end(turn_id)
            return turn

    def find_item(self, item_id: str) -> Raw | None:
        """Return an item of a turn that is listed."""
        with self._lock:
            self._expire()
            turn = self._places.get(item_id)
        if turn is None:
            return None
        return next((item for item in (*turn.given, *turn.output()) if _id(item) == item_id), None)

    def put(self, turn: Turn) -> bool:
        """Keep a turn, in place of one with its id; false if there is no room for it."""
        with self._lock:
            self._expire()
            self._unlist(turn.id)
            if sum(one.size for one in turn.chain()) > self._keep_bytes:
                return False
            self._hold(turn)
            self._listed[turn.id] = turn
            self._born[turn.id] = self._clock()
            for item in (*turn.given, *turn.output()):
                self._places[_id(item)] = turn
            if turn.parent is not None:
                self._leaves.pop(turn.parent.id, None)
            self._leaves[turn.id] = turn
            self._make_room()
            return True

    def drop(self, turn_id: str) -> bool:
        """Forget a turn; false if it is not listed. Turns after it go on as before."""
        with self._lock:
            self._expire()
            return self._unlist(turn_id)

    def _expire(self) -> None:
        dead = self._clock() - self._keep_s
        while self._born and next(iter(self._born.values())) <= dead:
            self._unlist(next(iter(self._born)))

    def _make_room(self) -> None:
        """Drop last turns, the one used longest ago first. The newest is last in line, and fits by itself."""
        while self.nbytes > self._keep_bytes:
            self._unlist(next(iter(self._leaves)))

    def _unlist(self, turn_id: str) -> bool:
        turn = self._listed.pop(turn_id, None)
        if turn is None:
            return False
        del self._born[turn_id]
        self._leaves.pop(turn_id, None)
        for item in (*turn.given, *turn.output()):
            if self._places.get(_id(item)) is turn:
                del self._places[_id(item)]
        if not self._holders[turn]:
            self._release(turn)
        return True

    def _hold(self, turn: Turn) -> None:
        """Count a turn, and as one that goes on from its parent; turns that had left come back with it."""
        held = 0
        for one in turn.chain():
            if one in self._holders:
                self._holders[one] += held
                return
            self._holders[one] = held
            self.nbytes += one.size
            held = 1

    def _release(self, turn: Turn) -> None:
        """Stop counting a turn that nothing goes on from, and those behind it that were here for it alone."""
        one: Turn | None = turn
        while one is not None and not self._holders[one] and one is not self._listed.get(one.id):
            del self._holders[one]
            self.nbytes -= one.size
            one = one.parent
            if one is not None:
                self._holders[one] -= 1
        if one is not None and not self._holders[one]:
            self._leaves[one.id] = one
            self._leaves.move_to_end(one.id, last=False)


def _id(item: Raw) -> str:
    return msgspec.json.decode(item, type=_IdOf).id
