"""``mlxp jobs``, and the hidden command that is the process of a job."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import rich_click as click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mlxp_core.contracts import Workbench
from mlxp_lab.jobs.desk import JobDesk
from mlxp_lab.jobs.journal import tail
from mlxp_lab.jobs.kind import Site
from mlxp_lab.jobs.record import Job
from mlxp_lab.jobs.store import Store
from mlxp_lab.jobs.supervisor import COMMAND, OUTPUT
from mlxp_lab.jobs.worker import work
from mlxp_lab.lab import AskKinds, Lab, open_lab, site_of
from mlxp_lab.settings import LabSettings
from mlxp_lab.watching import exit_status, watched

LINES = 200

OpenLab = Callable[[], Lab]
"""Opens the lab; ``--help`` needs none."""


def commands(kinds: AskKinds) -> list[click.Command]:
    """Return the commands; ``kinds`` asks plugins what jobs they bring."""
    return [_jobs(kinds), _worker(kinds)]


def _jobs(kinds: AskKinds) -> click.Command:
    @click.group
    @click.pass_context
    def jobs(ctx: click.Context) -> None:
        """List jobs, show one, follow it, stop it, let it go on."""
        bench: Workbench = ctx.obj
        ctx.obj = lambda: open_lab(site_of(bench, bench), kinds)

    for command in (list_, show, watch, cancel, resume, retry, rm):
        jobs.add_command(command)
    return jobs


@click.command("list")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--kind", metavar="KIND", help="Only jobs of this kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_(lab: OpenLab, limit: int, kind: str | None, as_json: bool) -> None:
    """List the newest jobs."""
    found = _true(lab()).store.newest(limit, kind)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif found:
        Console().print(_table(found))
    else:
        click.echo("no jobs yet", err=True)


@click.command
@click.argument("job_id", metavar="JOB")
@click.option("--log", is_flag=True, help="Print what its process has written, too.")
@click.pass_obj
def show(lab: OpenLab, job_id: str, log: bool) -> None:
    """Show a job, as JSON."""
    desk = _true(lab())
    click.echo(msgspec.json.format(msgspec.json.encode(desk.get(job_id))).decode())
    if log:
        for line in tail(desk.store.place_of(job_id) / OUTPUT, LINES):
            click.echo(line)


@click.command
@click.argument("job_id", metavar="JOB")
@click.pass_obj
@click.pass_context
def watch(ctx: click.Context, lab: OpenLab, job_id: str) -> None:
    """Follow a job to its end, starting it if it waits; Ctrl-C stops watching, not the job."""
    ctx.exit(exit_status(watched(lab(), job_id, cancel=False)))


@click.command
@click.argument("job_id", metavar="JOB")
@click.pass_obj
def cancel(lab: OpenLab, job_id: str) -> None:
    """Have a job stop."""
    job = _true(lab()).cancel(job_id)
    click.echo(f"{job_id} {'is cancelled' if job.ended else 'will stop'}")


@click.command
@click.argument("job_id", metavar="JOB")
@click.pass_obj
def resume(lab: OpenLab, job_id: str) -> None:
    """Have a job go on that failed or was cancelled."""
    _queued(_true(lab()).resume(job_id))


@click.command
@click.argument("job_id", metavar="JOB")
@click.pass_obj
def retry(lab: OpenLab, job_id: str) -> None:
    """Ask for the same again, as a new job."""
    _queued(_true(lab()).retry(job_id))


@click.command
@click.argument("job_id", metavar="JOB")
@click.pass_obj
def rm(lab: OpenLab, job_id: str) -> None:
    """Forget a job that has ended; what it made stays."""
    _true(lab()).remove(job_id)


def _true(lab: Lab) -> JobDesk:
    """Return the desk, when jobs whose processes are gone have been ended."""
    lab.supervisor.bury()
    return lab.desk


def _queued(job: Job) -> None:
    click.echo(f"{job.id} waits for a server, or for: mlxp jobs watch {job.id}")


def _worker(kinds: AskKinds) -> click.Command:
    @click.command(COMMAND, hidden=True)
    @click.argument("folder", type=click.Path(path_type=Path))
    @click.argument("job_id")
    @click.argument("attempt", type=int)
    @click.pass_obj
    @click.pass_context
    def worker(ctx: click.Context, bench: Workbench, folder: Path, job_id: str, attempt: int) -> None:
        """Be the process of a job."""
        logging.basicConfig(
            format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr, level=logging.INFO
        )
        bench.prepare_device()
        store = Store(folder)
        site = Site(folder=folder, settings=bench, models=bench)
        grace_s = bench.section(LabSettings).grace_s
        ctx.exit(work(job_id, attempt, store, site, lambda: kinds(bench), grace_s=grace_s))

    return worker


def _table(jobs: list[Job]) -> Table:
    table = Table(box=None)
    for name in ("job", "kind", "about", "state", "done", "message"):
        table.add_column(name, justify="right" if name == "done" else "left")
    for job in jobs:
        state = "paused" if job.paused else job.state
        first = (job.error or job.message).partition("\n")[0]
        table.add_row(job.id, job.kind, escape(job.title), state, f"{job.progress:.0%}", escape(first))
    return table
