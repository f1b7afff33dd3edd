"""The hot loop.

Its laws:

- Every array is made, evaluated and freed on this thread. Others hand in and get back frozen values only.
- The scheduler decides and touches no array; the runner computes and decides nothing; neither knows of threads.
- The runner is one step ahead: ``run`` dispatches a step and then reads the tokens of the one before it. So what
  ``settle`` learns is a step old, and a row that ended meanwhile has one draw under way that nobody takes.
- One hand-over a step, whatever the number of rows.
- What fails in a row fails the row; what fails in a step fails the rows it was about; anything else, a fault of the
  scheduler's own included, ends the thread, and ``Engine`` answers everybody.
"""

from mlxp_core.engine.faults import contained
from mlxp_core.engine.mailbox import STOP, Mailbox
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.stats import StatsBoard
from mlxp_core.engine.steps import Load, Runner


def run(mail: Mailbox, scheduler: Scheduler, runner: Runner, board: StatsBoard) -> None:
    """Serve until told to stop. The only loop that touches the arrays."""
    while (messages := mail.take(wait=scheduler.idle, timeout_s=scheduler.rest_s)) is not STOP:
        scheduler.apply(messages)  # admit, cancel, close: plain data
        step = scheduler.next_step()  # Load, Prefill, Fork, Decode, Read or Rest: plain data
        if isinstance(step, Load):
            board.publish(scheduler.snapshot())  # it takes long, and people look
        outcome = contained(runner.run, step)  # dispatches this step before it reads the last one
        deliveries = scheduler.settle(step, outcome)  # read, finish, free
        board.publish(scheduler.snapshot())  # first, so that whoever has an answer finds it counted
        mail.deliver(deliveries)  # one hand-over for all rows
