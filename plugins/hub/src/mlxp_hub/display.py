"""How a download or a push shows in a terminal: bars; elsewhere lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import rich_click as click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from mlxp_hub.refs import Ref
from mlxp_hub.remote import Listing, RemoteFile
from mlxp_hub.sending import Told
from mlxp_hub.watcher import Watcher


@contextmanager
def shown(ref: Ref) -> Iterator[Watcher]:
    """Show a download on standard error for as long as the block lasts."""
    if not sys.stderr.isatty():
        yield Lines(ref)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield Bars(ref, progress)


@contextmanager
def pushing(repo: str) -> Iterator[Told]:
    """Show a push on standard error for as long as the block lasts: a bar in a terminal, tenths elsewhere."""
    if not sys.stderr.isatty():
        yield _Tenths().show
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(repo, total=None)

        def show(done_bytes: int, total_bytes: int, stage: str) -> None:
            progress.update(bar, completed=done_bytes, total=total_bytes, description=f"{stage} {repo}")

        yield show


class _Tenths:
    """A line for each tenth of what is sent."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tenths = 0

    def show(self, done_bytes: int, total_bytes: int, stage: str) -> None:
        """Say so, if another tenth is done."""
        tenths = 10 * done_bytes // max(1, total_bytes) if stage == "sending" else 0
        with self._lock:
            if tenths > self._tenths:
                self._tenths = tenths
                click.echo(f"{10 * tenths} % of {total_bytes / 1e6:,.1f} MB", err=True)


class Bars:
    """Bars; those of files go when the file is complete. Rich's bars may be moved from any thread."""

    def __init__(self, ref: Ref, progress: Progress) -> None:
        """Show nothing yet."""
        self._progress = progress
        self._all = progress.add_task(f"[bold]{ref}", total=None)
        self._tasks: dict[str, TaskID] = {}

    def planned(self, listing: Listing) -> None:
        """Make the bars."""
        files = {file.digest: file for file in listing.files}
        self._progress.update(self._all, total=sum(file.size for file in files.values()))
        for file in files.values():
            self._tasks[file.digest] = self._progress.add_task(file.path, total=file.size)

    def found(self, file: RemoteFile, count: int) -> None:
        """Move the bars."""
        self.moved(file, count)

    def moved(self, file: RemoteFile, count: int) -> None:
        """Move the bars."""
        self._progress.advance(self._all, count)
        self._progress.advance(self._tasks[file.digest], count)

    def arrived(self, file: RemoteFile) -> None:
        """Take a file's bar away."""
        self._progress.remove_task(self._tasks[file.digest])


class Lines:
    """A line for the whole, and one for each file that is complete."""

    def __init__(self, ref: Ref) -> None:
        """Say nothing yet."""
        self._ref = ref
        self._lock = Lock()
        self._arrived = 0
        self._files = 0

    def planned(self, listing: Listing) -> None:
        """Say what will be fetched."""
        files = {file.digest: file for file in listing.files}
        self._files = len(files)
        size = sum(file.size for file in files.values())
        click.echo(f"{self._ref}: {self._files} files, {size / 1e6:,.1f} MB", err=True)

    def found(self, file: RemoteFile, count: int) -> None:
        """Say with which file one goes on."""
        if 0 < count < file.size:
            click.echo(f"{file.path}: going on at {100 * count // file.size} %", err=True)

    def moved(self, file: RemoteFile, count: int) -> None:
        """Say nothing."""

    def arrived(self, file: RemoteFile) -> None:
        """Say which file is complete."""
        with self._lock:
            self._arrived += 1
            click.echo(f"{file.path}: complete ({self._arrived} of {self._files})", err=True)
