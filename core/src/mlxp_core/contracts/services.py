"""What plugins that answer by themselves may ask of the running server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from msgspec import Raw, Struct, field

from mlxp_core.contracts.family import ModelFamily
from mlxp_core.contracts.formats import ThinkingFormat, ToolFormat
from mlxp_core.contracts.vision import VisionTower
from mlxp_core.types import (
    Answer,
    Appraisal,
    Capability,
    Catalogue,
    EngineStats,
    Event,
    Fit,
    GenerateRequest,
    Question,
    RunningRequest,
)

if TYPE_CHECKING:
    import click

    Command = click.Command
    """A subcommand of ``mlxp``."""

S = TypeVar("S", bound=Struct)
A = TypeVar("A", bound=Answer)


class SettingsSection(Struct, frozen=True, kw_only=True):
    """A table of mlxp.toml that a plugin owns: ``[<name>]``, decoded into ``type``."""

    name: str
    type: type[Struct]
    summary: str


class SettingInForce(Struct, frozen=True, kw_only=True):
    """One setting as it is now.

    Attributes:
        name: ``section.key``.
        value: as JSON; null where it is a secret, or not set.
        secret: there is a value that is not shown.
        layer: where it was found; ``default`` = nobody set it.
        source: the file, variable or flag; empty for a default.
    """

    name: str
    value: Raw
    secret: bool
    layer: Literal["default", "file", "environment", "flag"]
    source: str


class Settings(Protocol):
    """All settings, decoded."""

    def in_force(self) -> tuple[SettingInForce, ...]:
        """Return every setting, what may not be shown left out."""
        ...

    @property
    def path(self) -> Path | None:
        """The file they come from, if there is one."""
        ...

    def section(self, kind: type[S]) -> S:
        """Return the section whose ``SettingsSection.type`` is ``kind``."""
        ...


Appraise = Callable[[Path], Appraisal]
"""Looks at a model folder without loading it; takes as long as reading its small files, and never raises."""


class Models(Protocol):
    """Models on disk, and what plugins know of them; ``mlxp_core.workshop`` opens one with it.

    Its methods read files, so they are not for the event-loop thread.
    """

    @property
    def families(self) -> Mapping[str, ModelFamily]:
        """Families by name."""
        ...

    @property
    def tool_formats(self) -> Mapping[str, ToolFormat]:
        """Formats of tool calls by name."""
        ...

    @property
    def thinking_formats(self) -> Mapping[str, ThinkingFormat]:
        """Formats of thinking by name."""
        ...

    @property
    def vision_towers(self) -> Mapping[str, VisionTower]:
        """Kinds of eyes by name."""
        ...

    def find(self, ref: str) -> Path:
        """Return the folder of a model reference; raises ``UnknownModel``, or what a plugin says on purpose."""
        ...

    def appraise(self, folder: Path) -> Appraisal:
        """Say what can be said of a model folder without loading it."""
        ...


class Workbench(Settings, Models, Protocol):
    """What a command of a plugin gets by ``click.pass_obj``: all settings, and models on disk."""

    def prepare_device(self) -> None:
        """Have MLX compute as fast as it can in this process; to be called before it is first imported."""
        ...


class PluginReport(Struct, frozen=True, kw_only=True):
    """One plugin as ``mlxp plugins`` shows it.

    Attributes:
        name: entry-point name, what ``--disable`` takes.
        dist, version: the distribution it comes from.
        state: ``on``, ``off`` (switched off, never imported) or ``broken`` (``fault`` says why).
        brings: kind -> names, such as ``{"families": ("gemma4",)}``.
        load_ms: import and registration time.
        faults: failures of its observers since the start.
        warnings: what its author should repair; it works all the same.
    """

    name: str
    module: str
    dist: str
    version: str
    state: Literal["on", "off", "broken"]
    brings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    load_ms: float = 0.0
    faults: int = 0
    fault: str | None = None
    warnings: tuple[str, ...] = ()


class ProtocolReport(Struct, frozen=True, kw_only=True):
    """One protocol as ``GET /v1`` shows it.

    Attributes:
        paths: each with its method before it.
        fields: field name -> treatment.
        notes: field name -> what else there is to know of it; only where there is something.
        needs: field name -> what the model must be able to do for it.
    """

    name: str
    paths: tuple[str, ...]
    fields: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, Capability] = field(default_factory=dict)


class Ticket(Protocol):
    """The caller's end of one request."""

    def events(self) -> AsyncIterator[Event]:
        """Yield the events to the end; closing the iterator early cancels the request."""
        ...

    def cancel(self) -> None:
        """Stop as soon as possible; the events still end with ``Finished("cancelled")``."""
        ...


class Services(Protocol):
    """The running server; ``started_s`` is when it began, in seconds since 1970, ``models`` what is on disk."""

    settings: Settings
    models: Models
    version: str
    started_s: float

    def catalogue(self) -> Catalogue:
        """Return the models and adapters on offer now."""
        ...

    def stats(self) -> EngineStats:
        """Return the engine's last snapshot."""
        ...

    def plugins(self) -> tuple[PluginReport, ...]:
        """Return every plugin found, in name order."""
        ...

    def protocols(self) -> tuple[ProtocolReport, ...]:
        """Return every protocol that is on."""
        ...

    def appraise(self, folder: Path, context: int | None = None) -> Appraisal:
        """Say what can be said of a model folder without loading it; reads files, so not on the event-loop thread.

        Args:
            folder: the model's.
            context: tokens that it should have room for; absent = a usual number.
        """
        ...

    def fit(
        self, model: str = "", *, rows: int = 1, context: int | None = None, skus: bool = False
    ) -> Fit | None:
        """Say how a model fits this machine; ``None`` where nobody counts memory. Raises ``UnknownModel``.

        Args:
            model: its id or an alias; empty = the default model.
            rows: answers at the same time.
            context: tokens of each with its prompt; ``None`` = as many as fit.
            skus: whether to say it of every Apple computer, too.
        """
        ...

    async def generate(self, request: GenerateRequest) -> Ticket:
        """Check, prepare and queue a request; raises the errors of the tree."""
        ...

    async def answer(self, question: Question[A]) -> A:
        """Answer a question with one value; raises the errors of the tree. Cancelling the wait cancels the work."""
        ...

    def requests(self) -> tuple[RunningRequest, ...]:
        """Return how far every request is that has not ended, oldest first."""
        ...

    def running(self, request_id: str) -> RunningRequest | None:
        """Return how far a request is; ``None`` when none is running under that id."""
        ...

    def cancel(self, request_id: str) -> bool:
        """Cancel a request by id; false when none is running under it."""
        ...

    def hold(self, why: str | None) -> None:
        """Refuse new answers and vectors with 503 and ``why``, until ``None`` comes; may be called on any thread."""
        ...
