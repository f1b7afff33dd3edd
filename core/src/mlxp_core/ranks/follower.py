"""What every rank but the first does: follow."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

import mlx.core as mx

from mlxp_core.contracts import Inputs, LayerCache, Snapshot
from mlxp_core.errors import MlxpError, Unavailable
from mlxp_core.kv import BatchPositions
from mlxp_core.loading.network import Network
from mlxp_core.ranks.group import Group
from mlxp_core.ranks.led import DTYPES
from mlxp_core.ranks.lines import FollowersLine
from mlxp_core.ranks.messages import (
    Answer,
    Drop,
    Embed,
    Freeze,
    Join,
    Keep,
    Load,
    Loaded,
    Make,
    Message,
    Pass,
    Refused,
    Score,
    Stop,
    Thaw,
    Trim,
    Unload,
)

LoadPart = Callable[[str, str], tuple[Network, int]]
"""Model and fingerprint -> this rank's part, and how many bytes were read; see ``load_part``."""


class Follower:
    """The caches, snapshots and networks of a rank that is led."""

    def __init__(
        self, group: Group, line: FollowersLine, load: LoadPart, *, gone: Callable[[], object] = lambda: None
    ) -> None:
        """Begin with nothing loaded.

        Args:
            group: the ranks.
            line: to the first one.
            load: loads a part.
            gone: told, on a thread of its own, that the first one has gone without a word.
        """
        self._group = group
        self._line = line
        self._load = load
        self._gone = gone
        self._heard: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._networks: dict[int, Network] = {}
        self._caches: dict[int, LayerCache] = {}
        self._snapshots: dict[int, Snapshot] = {}

    def run(self) -> None:
        """Do what the first rank says, until it says stop.

        Raises:
            Unavailable: it has gone without a word.
        """
        threading.Thread(target=self._listen, name="mlxp-rank-0", daemon=True).start()
        while (message := self._heard.get()) is not None:
            if isinstance(message, Stop):
                return
            self._follow(message)
        raise Unavailable("rank 0 has gone")

    def _listen(self) -> None:
        while (messages := self._line.receive()) is not None:
            for message in messages:
                self._heard.put(message)
            if any(isinstance(message, Stop) for message in messages):
                return
        self._gone()
        self._heard.put(None)

    def _follow(self, message: Message) -> None:
        match message:
            case Load():
                self._line.send([self._loaded(message)])
            case Unload(network):
                self._networks.pop(network, None)
            case Pass() | Score() | Embed():
                mx.async_eval(self._computed(message))
            case _:
                self._keep_step(message)

    def _loaded(self, message: Load) -> Answer:
        try:
            network, read_bytes = self._load(message.model, message.fingerprint)
        except MlxpError as error:
            return Refused(error.message)
        self._networks[message.network] = network
        return Loaded(network.weight_bytes, read_bytes)

    def _computed(self, message: Pass | Score | Embed) -> mx.array:
        """Take part in what the first rank computes; see ``Led``, which does the same in the same order."""
        model, spread = self._networks[message.network].model, self._group.spread
        match message:
            case Score(shape=shape, dtype=dtype):
                return model.logits(spread(mx.zeros(shape, dtype=DTYPES[dtype])))
            case Embed(shape=shape):
                return model.embed(spread(mx.zeros(shape, dtype=mx.int32)))
            case Pass():
                shape = (len(message.starts), message.width)
                tokens = spread(mx.zeros(shape, dtype=mx.int32))
                embeddings = None
                if message.embeddings is not None:
                    embeddings = spread(mx.zeros((*shape, message.hidden), dtype=DTYPES[message.embeddings]))
                at = BatchPositions(
                    message.starts, message.counts, message.width, revocable=message.revocable
                )
                inputs = Inputs(
                    tokens=tokens,
                    at=at,
                    embeddings=embeddings,
                    images=message.images,
                    past_images=message.past_images,
                )
                return model(inputs, [self._caches[number] for number in message.caches])

    def _keep_step(self, message: Message) -> None:
        """Do to a cache what has been done to the first rank's."""
        match message:
            case Make(network, first):
                made = self._networks[network]
                self._caches |= dict(enumerate(made.model.make_caches(made.policy), first))
            case Join(cache, other):
                self._caches[cache].join(self._caches[other])
            case Keep(cache, rows):
                self._caches[cache].keep(rows)
            case Trim(cache, row, to):
                self._caches[cache].trim(row, to)
            case Freeze(cache, row, length, start, snapshot):
                taken = self._caches[cache].freeze(row, length, start)
                mx.async_eval(taken.arrays)
                self._snapshots[snapshot] = taken
            case Thaw(cache, thawed, pieces, first):
                parts = [(self._snapshots[number], begin, end) for number, begin, end in pieces]
                self._caches[thawed] = self._caches[cache].thaw(assembled(parts, first))
            case Drop(number):
                self._caches.pop(number, None)
                self._snapshots.pop(number, None)


def assembled(parts: Sequence[tuple[Snapshot, int, int]], first: int | None) -> Snapshot:
    """Return the snapshot that pieces of others make: each from one token to another.

    Args:
        parts: side by side.
        first: the first token; ``None`` = there is one piece, and it is taken whole.
    """
    whole, _, _ = parts[0]
    if first is None:
        return whole
    cut = [_cut(snapshot, begin, end) for snapshot, begin, end in parts]
    arrays = tuple(mx.concatenate(list(each), axis=2) for each in zip(*cut, strict=True))
    return Snapshot(arrays, sum(array.nbytes for array in arrays), first, whole.window)


def _cut(snapshot: Snapshot, begin: int, end: int) -> list[mx.array]:
    """Return what a snapshot holds of some tokens."""
    held = snapshot.first or 0
    return [array[:, :, begin - held : end - held] for array in snapshot.arrays]
