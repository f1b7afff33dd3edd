"""A kind of job, and what one gets to work with: the contract of ``mlxp_lab_jobs``.

A job is asked for (``prepare``, in the process that asks), waits for its turn, and runs (``run``, on the main thread of
a process of its own). What it makes appears in its place only when it is complete: see ``JobContext.making``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct, field

from mlxp_core.contracts import Models, Settings
from mlxp_core.errors import MlxpError

P = TypeVar("P", bound=Struct)

Json = Any
"""What JSON can say; goes into events and results, and is read by nobody here."""

Device = Literal["gpu", "cpu"]
"""What a job needs: ``gpu`` = what arrays are computed on, even if that is a processor; one job at a time has it."""

Chat = Literal["first", "waits", "together"]
"""Who goes first while a job has the device.

``first``: the job pauses while the server answers. ``waits``: the server gives no answers until the job has ended.
``together``: neither waits.
"""


class Cancelled(BaseException):
    """Somebody wants the job to stop. Let it pass: not an ``Exception``, so that nobody catches it by accident."""


class JobFailed(MlxpError):
    """The job cannot do what was asked; the message says why, and what to do."""

    code = "job_failed"


class Site(Struct, frozen=True, kw_only=True, eq=False):
    """Where jobs are at home.

    Attributes:
        folder: of the lab.
        settings: all of them.
        models: models on disk.
    """

    folder: Path
    settings: Settings
    models: Models

    @property
    def made_models(self) -> Path:
        """Return the folder of models that jobs make; ``mlxp serve`` finds them by name."""
        return self.folder / "models"

    @property
    def datasets(self) -> Path:
        """Return the folder of datasets that jobs make."""
        return self.folder / "datasets"

    @property
    def adapters(self) -> Path:
        """Return the folder of adapters that jobs make; with the usual folder, the server mounts them from there."""
        return self.folder.parent / "adapters"


class JobResult(Struct, frozen=True, kw_only=True):
    """What came of a job.

    Attributes:
        output: the folder or file it made, if any.
        summary: what to tell of it, in JSON.
    """

    output: Path | None = None
    summary: Mapping[str, Json] = field(default_factory=dict)


class JobContext(Protocol):
    """What a running job may use. Methods may be called from any thread, ``breathe`` from the main one."""

    @property
    def id(self) -> str:
        """The job's id."""
        ...

    @property
    def site(self) -> Site:
        """Where it runs."""
        ...

    @property
    def folder(self) -> Path:
        """A folder of its own, kept when it ends badly, so that ``resuming`` finds what was saved there."""
        ...

    @property
    def resuming(self) -> bool:
        """Whether it ran before and is to go on; only for kinds that are ``resumable``."""
        ...

    def progress(self, fraction: float, message: str = "", *, stage: str = "") -> None:
        """Say how far it is.

        Args:
            fraction: of the whole job, 0 to 1; never goes back.
            message: what it is doing, for people.
            stage: a word for the part it is in.
        """
        ...

    def metrics(self, step: int, **values: float) -> None:
        """Say what was measured at a step, such as ``loss``."""
        ...

    def log(self, line: str) -> None:
        """Say something for the log."""
        ...

    def breathe(self) -> None:
        """Give way; to be called every second or so, between two pieces of work, with everything evaluated.

        Returns at once, or when the server has answered what it is busy with.

        Raises:
            Cancelled: the job is to stop.
        """
        ...

    def making(self, place: Path, *, replace: bool = False) -> AbstractContextManager[Path]:
        """Make a folder: give an empty one beside ``place``, and move it there when the block ends well.

        Args:
            place: where it will be; its parents are made.
            replace: put it in the place of a folder that is there.

        Raises:
            JobFailed: something is there, and ``replace`` does not hold.
        """
        ...


class JobKind(Struct, Generic[P], frozen=True, kw_only=True):
    """One kind of job.

    Attributes:
        name: unique; a word, as in ``quantize``.
        summary: what it does, in a sentence.
        parameters: what it takes; a struct that forbids unknown fields. Kept as JSON.
        run: does it. What it raises of our errors is why it failed; anything else is shown with its name.
        prepare: check the parameters before the job is kept, and fill in what follows from them; raises
            ``BadParameters`` or any other error of ours. Reads small files only. Absent = they are as they are.
        title: what to call a job, such as the model it is about; absent = its kind.
        device: what it needs.
        resumable: whether ``run`` can go on with what an earlier run has left in the job's folder.
    """

    name: str
    summary: str
    parameters: type[P]
    run: Callable[[P, JobContext], JobResult]
    prepare: Callable[[P, Site], P] | None = None
    title: Callable[[P], str] | None = None
    device: Device = "gpu"
    resumable: bool = False
