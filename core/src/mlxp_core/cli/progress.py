"""How far loading is: a bar in a terminal, a line now and then elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import rich_click as click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

LINES = 4
"""How many lines are written where there is no terminal."""


class Told(Protocol):
    """Takes how much is done, of how much."""

    def __call__(self, done: int, total: int, /) -> None:
        """Show it."""
        ...


@contextmanager
def loading(name: str) -> Iterator[Told]:
    """Show how far the loading of ``name`` is, on standard error; may be told from any thread."""
    if sys.stderr.isatty():
        with _bar(name) as told:
            yield told
    else:
        yield _lines(name)


@contextmanager
def _bar(name: str) -> Iterator[Told]:
    columns = (
        TextColumn("loading {task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=None)

        def told(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield told


def _lines(name: str) -> Told:
    written = 0

    def told(done: int, total: int) -> None:
        nonlocal written
        reached = done * LINES // max(total, 1)
        if reached > written:
            written = reached
            click.echo(f"loading {name}: {100 * done // max(total, 1)} %", err=True)

    return told
