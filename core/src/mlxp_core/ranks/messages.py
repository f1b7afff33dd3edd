"""What the first rank tells the others, in the order in which it does it, and what they answer.

Networks, caches and snapshots go by numbers, which the first rank gives them.
"""

from __future__ import annotations

from msgspec import Struct

from mlxp_core.contracts import ImageSpan

Spans = tuple[tuple[ImageSpan, ...], ...]


class Load(Struct, frozen=True, tag=True):
    """Load your part of a model, which must be as ``fingerprint`` says, as a ``network``; answer when that is done."""

    model: str
    fingerprint: str
    network: int


class Unload(Struct, frozen=True, tag=True):
    """Let go of a network, if you have it."""

    network: int


class Make(Struct, frozen=True, tag=True):
    """Make the caches of a row; they are called ``first``, and so on."""

    network: int
    first: int


class Join(Struct, frozen=True, tag=True):
    """See ``LayerCache.join``."""

    cache: int
    other: int


class Keep(Struct, frozen=True, tag=True):
    """See ``LayerCache.keep``."""

    cache: int
    rows: tuple[int, ...]


class Trim(Struct, frozen=True, tag=True):
    """See ``LayerCache.trim``."""

    cache: int
    row: int
    to: int


class Freeze(Struct, frozen=True, tag=True):
    """See ``LayerCache.freeze``; what comes of it is called ``snapshot``."""

    cache: int
    row: int
    length: int
    start: int
    snapshot: int


class Thaw(Struct, frozen=True, tag=True):
    """See ``LayerCache.thaw``; what comes of it is called ``made``.

    Attributes:
        cache: an empty one of the layer.
        pieces: snapshots with the first token that is taken from each, and the one behind its last.
        first: where the first piece begins; ``None`` = there is one snapshot, and it is taken whole.
    """

    cache: int
    made: int
    pieces: tuple[tuple[int, int, int], ...]
    first: int | None


class Drop(Struct, frozen=True, tag=True):
    """Let go of a cache or a snapshot."""

    number: int


class Pass(Struct, frozen=True, tag=True):
    """Run a pass. The tokens come over the group, and so do the embeddings, if there are any.

    Attributes:
        starts, counts, width, revocable: see ``Positions``.
        images, past_images: see ``Inputs``.
        embeddings: the type of those that take the place of the tokens' own, ``[rows, width, hidden]``.
        hidden: the last of these sizes.
    """

    network: int
    caches: tuple[int, ...]
    starts: tuple[int, ...]
    counts: tuple[int, ...]
    width: int
    revocable: bool
    images: Spans = ()
    past_images: Spans = ()
    embeddings: str | None = None
    hidden: int = 0


class Embed(Struct, frozen=True, tag=True):
    """Look tokens up; they come over the group."""

    network: int
    shape: tuple[int, ...]


class Score(Struct, frozen=True, tag=True):
    """Score hidden states; they come over the group."""

    network: int
    shape: tuple[int, ...]
    dtype: str


class Stop(Struct, frozen=True, tag=True):
    """End: nothing more will come."""


Message = Load | Unload | Make | Join | Keep | Trim | Freeze | Thaw | Drop | Pass | Embed | Score | Stop


class Loaded(Struct, frozen=True, tag=True):
    """A part is loaded.

    Attributes:
        weight_bytes: of its parameters in memory.
        read_bytes: that were read from files.
    """

    weight_bytes: int
    read_bytes: int


class Refused(Struct, frozen=True, tag=True):
    """A part could not be loaded."""

    why: str


Answer = Loaded | Refused
