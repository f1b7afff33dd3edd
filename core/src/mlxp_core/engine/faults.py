"""From any exception to the fault of one row or one step: the one place of the engine that catches everything."""

import logging
import traceback
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mlxp_core.errors import EngineFault, MlxpError

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class DeviceFault(EngineFault):
    """Something could not be computed. It may belong to anybody who has a row; see ``guard``."""


def contained(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | MlxpError:
    """Call, and return the fault where it would have raised one.

    What belongs to one row (its reader, its constraint, its sampler) or to one step is called through here, so that
    nothing else falls with it. The error comes back bare: its traceback would keep arrays alive.
    """
    try:
        return call(*args, **kwargs)
    except MlxpError as error:
        return bare(error)
    except Exception as error:  # noqa: BLE001  # the named place: a fault ends a row or a step, not the thread
        _log.error("contained a fault in the engine\n%s", traced(error))  # see ``traced``
        return EngineFault(
            f"the answer failed inside the server ({described(error)}); the request may be sent again"
        )


def bare(error: MlxpError) -> MlxpError:
    """Return the error without traceback and causes, whose frames would hold on to arrays."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def described(error: BaseException) -> str:
    """Return what an error says, in one line; ours speak for themselves, others need their name."""
    if isinstance(error, MlxpError):
        return error.message
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def traced(error: BaseException) -> str:
    """Return the traceback as text: who keeps log records must not keep its frames, which hold on to arrays."""
    return "".join(traceback.format_exception(error)).rstrip()
