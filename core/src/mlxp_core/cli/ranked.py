"""``mlxp serve`` as one of several ranks, which ``mlx.launch`` has started."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.errors import ModelFolderError, SetupError, Unavailable
from mlxp_core.ranks import Launch
from mlxp_core.types import AdapterSettings, EngineSettings

if TYPE_CHECKING:
    from mlxp_core.desk import Lineup
    from mlxp_core.loading.network import Network
    from mlxp_core.plugins import Flags, Setup
    from mlxp_core.ranks.leader import Leader
    from mlxp_core.ranks.meeting import Meeting

log = logging.getLogger("mlxp")

STUCK_S = 30.0
"""How long the first rank may take to end by itself once the ranks can no longer compute together."""

FOLLOWS_S = 5.0
"""How long another one may take, which has nobody to answer."""


class Company(Struct, frozen=True, eq=False):
    """What the first rank knows of all.

    Attributes:
        launch: which process this is.
        leader: leads the others.
        usable_bytes: memory that each rank has to spare for its parts.
    """

    launch: Launch
    leader: Leader
    usable_bytes: int


def as_rank(flags: Flags) -> Flags:
    """Return the flags of a rank: a lost engine ends it, as the others end, too."""
    return {**flags, "engine": {**flags.get("engine", {}), "on_death": "exit"}}


def check_servable(setup: Setup) -> None:
    """Make sure that nothing is asked for that ranks cannot do.

    Raises:
        SetupError: something is.
    """
    engine, adapters = setup.settings.section(EngineSettings), setup.settings.section(AdapterSettings)
    asked = {
        "adapters.mount": bool(adapters.mount),
        "engine.prompt_cache_dir": engine.prompt_cache_dir is not None,
        "engine.speculate": engine.drafting,
    }
    for name in (name for name, is_set in asked.items() if is_set):
        raise SetupError(f"{name}: not for a model that several ranks serve; leave it out, or serve with one")


@contextmanager
def leading(launch: Launch | None, setup: Setup) -> Iterator[Company | None]:
    """Lead the other ranks, if there are any, for as long as the block lasts, and then send them home.

    Raises:
        SetupError: they do not come, or do not go together, or something is asked for that they cannot do.
    """
    if launch is None:
        yield None
        return
    from mlxp_core.ranks.leader import Leader  # only where there are ranks

    meeting = _met(launch, setup)
    leader = Leader(meeting.group, meeting.lines)
    leader.watch(_say_and_end_late)
    try:
        yield Company(launch, leader, meeting.usable_bytes)
    finally:
        leader.close()


def follow(launch: Launch, setup: Setup, lineup: Lineup) -> None:
    """Follow the first rank until it says stop.

    Raises:
        SetupError: the others do not come, or do not go together.
        Unavailable: the first one has gone without a word.
    """
    from mlxp_core.engine.ranked import source_of  # as above
    from mlxp_core.memory.device import kept_within, this_machine  # as above
    from mlxp_core.memory.plan import budget_of  # as above
    from mlxp_core.ranks.follower import Follower  # as above
    from mlxp_core.ranks.part import load_part  # as above

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first rank finishes and says stop
    meeting = _met(launch, setup)
    assert meeting.line is not None  # noqa: S101  # no other rank than the first lacks it
    sources = {model: source_of(each.plan) for model, each in lineup.models.items()}

    def load(model: str, fingerprint: str) -> tuple[Network, int]:
        source = sources.get(model)
        if source is None:
            raise ModelFolderError(f"serves no {model!r}; it was started with {', '.join(sources)}")
        if source.fingerprint != fingerprint:
            raise ModelFolderError(
                f"its files of {model!r}, or its settings, are others than those of rank 0"
            )
        loaded = load_part(source, meeting.group)
        log.info("rank %d has its part of %s", launch.rank, model)
        return loaded

    log.info("rank %d of %d follows", launch.rank, launch.ranks)
    machine = replace(this_machine(), usable_bytes=meeting.usable_bytes)
    with kept_within(budget_of(setup.settings.section(EngineSettings), machine)):
        Follower(meeting.group, meeting.line, load, gone=_end_soon).run()


def _met(launch: Launch, setup: Setup) -> Meeting:
    from mlxp_core.cli.weighing import this_machine_or_fail  # as above
    from mlxp_core.ranks.meeting import meet  # as above

    check_servable(setup)
    return meet(launch, this_machine_or_fail())


def _say_and_end_late(why: Unavailable) -> None:
    log.critical("the ranks can no longer compute together: %s", why.message)
    _end_late(STUCK_S)


def _end_soon() -> None:
    log.critical("rank 0 has gone")
    _end_late(FOLLOWS_S)


def _end_late(patience_s: float) -> None:
    """End the process, should it not end by itself: a device that waits for a rank that has gone may wait for ever."""
    timer = threading.Timer(patience_s, os._exit, (1,))
    timer.daemon = True
    timer.start()
