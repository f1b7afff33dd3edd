"""A runner whose faults are blamed on the right rows.

MLX computes later than it is told to. When that fails, the error is raised once, by whatever call to MLX comes next,
and the arrays that could not be computed hold anything from then on. So an error of the device may belong to any work
under way, and to nothing that comes after it. Here the device is brought to rest as soon as one shows; it becomes a
``DeviceFault``, for which the scheduler fails everybody who has a row; and what was computed lately is distrusted.

Before models and adapters come and go, the device is brought to rest in any case: an error that shows then is not
theirs, and the step, which has not begun, is asked for again.
"""

import logging
from collections.abc import Callable

from mlxp_core.engine.faults import DeviceFault, described, traced
from mlxp_core.engine.steps import Adapt, Load, Outcome, Runner, Step, Unload
from mlxp_core.errors import MlxpError

_log = logging.getLogger(__name__)

MOST_ERRORS = 64
"""That are waited for in a row; so many steps are never under way."""


class Guarded(Runner):
    """Carries out steps by another runner."""

    def __init__(
        self, runner: Runner, *, synchronize: Callable[[], object], distrust: Callable[[], object]
    ) -> None:
        """Guard a runner.

        Args:
            runner: it.
            synchronize: waits for the device; raises what has gone wrong there.
            distrust: forgets what was computed lately and kept.
        """
        self._runner = runner
        self._synchronize = synchronize
        self._distrust = distrust

    def run(self, step: Step) -> Outcome:
        """Carry out a step.

        Raises:
            DeviceFault: something could not be computed; a step about models or adapters has not begun.
        """
        if isinstance(step, Load | Unload | Adapt):
            fault = self._rest()
            if fault is not None:
                raise self._blamed(fault)
            return self._runner.run(step)
        try:
            return self._runner.run(step)
        except MlxpError:
            raise
        except Exception as error:
            fault = self._rest()
            if fault is None and not isinstance(error, RuntimeError):
                raise  # by Python, while it told MLX what to compute: the step's own
            raise self._blamed(error) from error

    def close(self) -> None:
        """Free everything."""
        self._rest()
        self._runner.close()

    def _rest(self) -> RuntimeError | None:
        """Wait until the device has nothing to do, and return the first error of what it had; ``None`` = none."""
        first: RuntimeError | None = None
        for _ in range(MOST_ERRORS):
            try:
                self._synchronize()
            except RuntimeError as error:
                first = first or error
            else:
                break
        return first

    def _blamed(self, error: Exception) -> DeviceFault:
        _log.error("something could not be computed\n%s", traced(error))
        self._distrust()
        return DeviceFault(
            f"the answer failed inside the server ({described(error)}); the request may be sent again"
        )
