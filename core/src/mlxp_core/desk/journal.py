"""One line per finished choice, for people and for log collectors: ``key=value`` pairs, always in the same order."""

import json
import logging
from collections.abc import Callable

from mlxp_core.desk.faces import ObserversFace
from mlxp_core.types import RequestRecord

log = logging.getLogger("mlxp.requests")


def keeper(observers: ObserversFace) -> Callable[[RequestRecord], None]:
    """Return what the engine shall do with each record: log it, and tell the observers."""

    def keep(record: RequestRecord) -> None:
        write(record)
        observers.request_finished(record)

    return keep


def write(record: RequestRecord) -> None:
    """Log how a choice ended: information if well, a warning if not."""
    log.log(logging.WARNING if record.error else logging.INFO, "%s", line(record))


def line(record: RequestRecord) -> str:
    """Return the record as text. Values that hold spaces, quotes or control characters are JSON strings."""
    usage, timing = record.usage, record.timing
    speed = usage.completion / timing.decode_s if timing.decode_s > 0 else 0.0
    pairs: list[tuple[str, str]] = [
        ("request", record.request_id),
        ("choice", str(record.choice)),
        ("protocol", record.protocol or "-"),
        ("model", record.model),
        ("reason", record.reason),
        ("prompt", str(usage.prompt)),
        ("cached", str(usage.cached)),
        ("completion", str(usage.completion)),
        ("thinking", str(usage.thinking)),
        ("queued_s", f"{timing.queued_s:.3f}"),
        ("prefill_s", f"{timing.prefill_s:.3f}"),
        ("decode_s", f"{timing.decode_s:.3f}"),
        ("tokens_per_s", f"{speed:.1f}"),
        ("seed", str(record.seed)),
    ]
    if record.adapters:
        pairs.append(("adapters", "+".join(record.adapters)))
    if record.reuse is not None and record.reuse.cause != "none":
        pairs.append(("cache", record.reuse.why))
    if record.error:
        pairs.append(("error", record.error))
    return " ".join(f"{key}={_bare(value)}" for key, value in pairs)


def _bare(value: str) -> str:
    plain = value and all(char.isprintable() and char not in ' "=' for char in value)
    return value if plain else json.dumps(value)
