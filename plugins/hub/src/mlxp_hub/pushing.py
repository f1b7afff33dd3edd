"""A push on a thread of its own, so that the one that waits can stop it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

from mlxp_hub.parcel import Parcel
from mlxp_hub.sending import Push, Sent, Told, send
from mlxp_hub.settings import HubSettings

_LOOK_S = 0.1


def pushed(
    parcel: Parcel, push: Push, settings: HubSettings, told: Told, breathe: Callable[[], None]
) -> Sent:
    """Send a folder, and wait for it.

    Args:
        parcel: what is sent.
        push: what is wanted.
        settings: where the hub is, and the token.
        told: told how it goes, from other threads.
        breathe: called now and then; what it raises ends the push, and is raised here.

    Raises:
        HubError: it may not be sent, or the hub cannot be reached.
    """
    stop = Event()
    with ThreadPoolExecutor(1, "mlxp-hub-push") as pool:
        sent = pool.submit(send, parcel, push, settings, told, stop)
        try:
            while wait([sent], _LOOK_S).not_done:
                breathe()
        except BaseException:
            stop.set()
            raise
    return sent.result()
