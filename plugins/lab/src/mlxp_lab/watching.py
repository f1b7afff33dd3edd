"""A job on the command line: looked after until it ends, and shown meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rich_click as click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from mlxp_lab.jobs.events import Event, LogEvent, MetricsEvent, ProgressEvent, ResultEvent, StateEvent
from mlxp_lab.jobs.journal import Journal
from mlxp_lab.jobs.record import Job
from mlxp_lab.lab import Lab

LOOK_S = 0.1

Show = Callable[[Event], None]


def watched(lab: Lab, job_id: str, *, cancel: bool) -> Job:
    """Look after a job until it ends, show it on standard error, and return it as it is then.

    Args:
        lab: where it is.
        job_id: which.
        cancel: Ctrl-C stops the job; a second one, or one without ``cancel``, only stops watching.
    """
    with _shown(lab.desk.get(job_id)) as show:
        events = _events(lab, job_id)
        try:
            _tell(events, show)
        except KeyboardInterrupt:
            if not cancel:
                raise
            lab.desk.cancel(job_id)
            _tell(_events(lab, job_id), show)
    return lab.desk.get(job_id)


def exit_status(job: Job) -> int:
    """Say on standard error how a job has ended, and return the exit status that goes with it."""
    match job.state:
        case "done":
            click.echo(f"{job.id} is done" + (f": {job.output}" if job.output else ""), err=True)
            return 0
        case "failed":
            click.echo(f"{job.id} failed: {job.error}", err=True)
        case _:
            click.echo(f"{job.id} was cancelled", err=True)
    return 1


def _tell(events: Iterator[Event], show: Show) -> None:
    for event in events:
        show(event)


def _events(lab: Lab, job_id: str) -> Iterator[Event]:
    """Yield what a job says from its beginning to its end, looking after it."""
    journal, place = Journal(lab.desk.store.place_of(job_id)), 0
    while True:
        lab.supervisor.tend(only=job_id)
        job = lab.desk.store.get(job_id)
        for event, behind in journal.read(place):
            place = behind
            yield event
        if job is None or job.ended:
            return
        time.sleep(LOOK_S)


@contextmanager
def _shown(job: Job) -> Iterator[Show]:
    """Show events for as long as the block lasts: as a bar in a terminal, as lines elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines().show
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task(f"{job.kind} {job.title}", total=1.0, left="")

        def show(event: Event) -> None:
            match event:
                case ProgressEvent(fraction=fraction, message=message, left_s=left_s):
                    left = "" if left_s is None else f"{left_s:,.0f} s left"
                    bars.update(bar, completed=fraction, description=message or job.title, left=left)
                case StateEvent(state="running", paused=True, message=message):
                    bars.update(bar, left=message)
                case _ if (text := _text(event)) is not None:
                    bars.console.print(text, markup=False, highlight=False)

        yield show


class _Lines:
    """A line for what is worth one, and one for each tenth that is done."""

    def __init__(self) -> None:
        self._tenths = 0

    def show(self, event: Event) -> None:
        text = _text(event)
        if text is None and isinstance(event, ProgressEvent) and int(event.fraction * 10) > self._tenths:
            self._tenths = int(event.fraction * 10)
            text = f"{event.fraction:4.0%} {event.message}"
        if text is not None:
            click.echo(text, err=True)


def _text(event: Event) -> str | None:
    """Return the line that an event is worth, if any."""
    match event:
        case LogEvent(line=line):
            return line
        case MetricsEvent(step=step, values=values):
            return f"step {step}: " + ", ".join(f"{name} {value:.5g}" for name, value in values.items())
        case StateEvent(state=state, paused=paused, message=message):
            return f"{'paused' if paused else state}{': ' if message else ''}{message}"
        case ResultEvent() | ProgressEvent():
            return None
