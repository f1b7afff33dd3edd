"""The JSON of questions about adapters."""

from typing import Annotated

from msgspec import Meta, Struct

Name = Annotated[str, Meta(min_length=1)]


class MountBody(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/adapters``.

    Attributes:
        id: what requests will call it.
        path: its folder, in one of the server's adapter roots; a relative one is looked for in each of them.
        model: which model it is for; absent = the default one.
    """

    id: Name
    path: Name
    model: str | None = None


class MountedAdapter(Struct, frozen=True, kw_only=True):
    """An adapter that was mounted, and what is odd about it."""

    id: str
    model: str
    mounted_layers: int
    rank: int | None
    scale: float
    unused: tuple[str, ...]
    warnings: tuple[str, ...]


class RemovedAdapter(Struct, frozen=True, kw_only=True):
    """An adapter that no request may name any more."""

    id: str
    removed_layers: int


class AdapterCard(Struct, frozen=True, kw_only=True):
    """A mounted adapter.

    Attributes:
        path: its folder.
        mounted_layers: how many modules of the model it changes.
        size_bytes: of its matrices in memory.
    """

    id: str
    path: str
    model: str
    rank: int | None
    scale: float
    size_bytes: int
    mounted_layers: int
    base_model: str | None
    warnings: tuple[str, ...]


class AdapterList(Struct, frozen=True, kw_only=True):
    """The adapters that requests may name, in the order in which they were mounted."""

    adapters: tuple[AdapterCard, ...]


class AvailableAdapter(Struct, frozen=True, kw_only=True):
    """An adapter on disk; ``rank`` is null where its configuration cannot be read."""

    id: str
    path: str
    rank: int | None
    scale: float
    base_model: str | None
    mounted: bool


class AvailableList(Struct, frozen=True, kw_only=True):
    """The adapters in the server's adapter roots that go with the model."""

    adapters: tuple[AvailableAdapter, ...]
