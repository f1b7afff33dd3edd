"""How far loading is: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import rich_click as click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LINES = 4
"""How many lines are written where there is no terminal."""


class Told(Protocol):
    """Takes how much is done, of how much."""

    def __call__(self, done: int, total: int, /) -> None:
        """Show it."""
        ...


Show = Callable[[str], Told]
"""Begins to show the loading of a model of that name."""


@contextmanager
def loading() -> Iterator[Show]:
    """Show how far models are that are loaded, on standard error; may be told from any thread."""
    if not sys.stderr.isatty():
        yield _lines
        return
    from rich.console import Console  # only where somebody looks: it takes a while
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("loading {task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield lambda name: _bar(progress, name)


def _bar(progress: Progress, name: str) -> Told:
    tasks: list[TaskID] = []

    def told(done: int, total: int) -> None:
        if not tasks:  # a model may be loaded much later, or never
            tasks.append(progress.add_task(name))
        progress.update(tasks[0], completed=done, total=total)

    return told


def _lines(name: str) -> Told:
    written = 0

    def told(done: int, total: int) -> None:
        nonlocal written
        reached = done * LINES // max(total, 1)
        if reached > written:
            written = reached
            click.echo(f"loading {name}: {100 * done // max(total, 1)} %", err=True)

    return told
