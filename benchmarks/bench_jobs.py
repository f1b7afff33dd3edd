"""What jobs cost a server that looks after them, and what a job pays for being looked after."""

import tempfile
from pathlib import Path
from timeit import repeat

from mlxp_lab.jobs.context import Running
from mlxp_lab.jobs.kind import Site
from mlxp_lab.jobs.process import me
from mlxp_lab.jobs.store import Ending, NewJob, Store
from mlxp_lab.jobs.supervisor import Supervisor

ENDED = 500
NEW = NewJob(kind="k", title="t", device="gpu", chat="first", parameters={})


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for _ in range(ENDED):
            began(store)
        tell("look after a lab without live jobs", Supervisor(store, {}, cpu_jobs=2, grace_s=10).tend, 200)
        tell("say that a server answers somebody", lambda: store.announce(me(), busy=True), 200)
        job = store.claim(store.add(NEW).id, me(), cpu_jobs=2)
        running = store.begin(job.id, job.attempt, me())
        tell("a sign of life", lambda: store.beat(running), 200)
        context = Running(running, store, Site(folder=Path(folder), settings=None, models=None))
        tell("breathe, with nobody to give way to", context.breathe, 100_000)
        tell("progress, most of it not written", lambda: context.progress(0.5, "half"), 1000)
        tell("metrics", lambda: context.metrics(1, loss=0.5, learning_rate=1e-4), 1000)


def began(store: Store) -> None:
    """Leave a job behind that has ended."""
    job = store.claim(store.add(NEW).id, me(), cpu_jobs=2)
    store.end(job, Ending(state="done"))


def tell(what: str, work: object, number: int) -> None:
    """Time something and print what one costs."""
    print(f"{what}: {min(repeat(work, number=number, repeat=5)) / number * 1e6:,.1f} µs")


if __name__ == "__main__":
    main()
