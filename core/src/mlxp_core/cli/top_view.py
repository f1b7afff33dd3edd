"""How a running server looks in a terminal: pure, from what it said of itself."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct, field
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mlxp_core.memory import told

RECENT_S = 10.0
"""How far back the answers go whose tokens are counted as speed."""

SHOWN = 12
"""Most requests that are listed."""


class Server(Struct, frozen=True):
    """As in ``/stats``, like the structs below: those numbers that are shown."""

    version: str
    state: str
    fault: str | None
    restarts: int


class Batch(Struct, frozen=True):
    """Rows."""

    configured: int


class Queue(Struct, frozen=True):
    """Choices in the house."""

    limit: int
    waiting: int
    prefilling: int
    running: int


class Timings(Struct, frozen=True):
    """Smoothed over the choices that finished."""

    ttft_s: float
    tokens_per_s: float


class Totals(Struct, frozen=True):
    """Since the start."""

    finished: int
    failed: int
    cancelled: int
    steps: int


class Admission(Struct, frozen=True):
    """Bytes."""

    usable_bytes: int
    reserved_bytes: int
    weights_bytes: int
    cache_bytes: int
    active_bytes: int
    peak_bytes: int


class PromptCache(Struct, frozen=True):
    """Checkpoints, and what came of look-ups."""

    entries: int
    bytes: int
    max_bytes: int
    hits: int
    misses: int
    hit_tokens: int


class Model(Struct, frozen=True):
    """One on offer."""

    state: str
    pinned: bool
    finished: int
    failed: int
    cancelled: int
    completion_tokens: int


class Stats(Struct, frozen=True):
    """What ``/stats`` says."""

    server: Server
    batch: Batch
    queue: Queue
    timings: Timings
    totals: Totals
    admission: Admission
    prompt_cache: PromptCache | None
    models: Mapping[str, Model]


class Choice(Struct, frozen=True):
    """How far one answer is."""

    state: Literal["waiting", "prefilling", "generating", "ended"]


class Running(Struct, frozen=True):
    """A request that has not ended."""

    id: str
    protocol: str
    model: str
    age_s: float
    choices: tuple[Choice, ...]


class Ended(Struct, frozen=True):
    """A choice that has."""

    id: str
    protocol: str
    model: str
    ended_at: int
    reason: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    queued_s: float
    prefill_s: float
    decode_s: float


class Requests(Struct, frozen=True):
    """What ``/v1/requests`` says."""

    running: tuple[Running, ...] = ()
    ended: tuple[Ended, ...] = ()


class Sight(Struct, frozen=True):
    """The server at one moment: on a clock that only grows, and in seconds since 1970."""

    at_s: float
    now_s: float
    stats: Stats
    requests: Requests = field(default_factory=Requests)


def view(now: Sight | None, before: Sight | None, where: str) -> RenderableType:
    """Return the whole picture.

    Args:
        now: what was seen; ``None`` = it does not answer.
        before: what was seen the last time.
        where: host and port.
    """
    if now is None:
        return Text(f"{where} does not answer", style="red")
    return Group(_head(now, before, where), "", _models(now), "", _memory(now.stats), "", _requests(now))


def _head(now: Sight, before: Sight | None, where: str) -> Text:
    stats, queue = now.stats, now.stats.queue
    colour = {"ready": "green", "lost": "red"}.get(stats.server.state, "yellow")
    head = Text(f"mlxp {stats.server.version} at {where}  ")
    head.append(stats.server.state, colour)
    if stats.server.fault:
        head.append(f" ({stats.server.fault})", "red")
    if stats.server.restarts:
        head.append(f"  restarted {stats.server.restarts} times", "yellow")
    rows = queue.prefilling + queue.running
    head.append(f"\nrows {rows} of {stats.batch.configured}, {queue.prefilling} reading   ")
    head.append(f"queue {queue.waiting} of {queue.limit}   ")
    if before is not None and now.at_s > before.at_s and stats.totals.steps >= before.stats.totals.steps:
        steps = (stats.totals.steps - before.stats.totals.steps) / (now.at_s - before.at_s)
        head.append(f"steps {steps:.0f}/s   ")
    head.append(
        f"answers {stats.timings.tokens_per_s:.1f} tokens/s each, first after {stats.timings.ttft_s:.2f} s"
    )
    return head


def _models(now: Sight) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("state")
    for name in ("rows", "waiting", "tokens/s", "finished", "failed", "cancelled", "tokens"):
        table.add_column(name, justify="right")
    rows, waiting, speed = Counter[str](), Counter[str](), _speeds(now)
    for request in now.requests.running:
        for choice in request.choices:
            counter = waiting if choice.state == "waiting" else rows
            counter[request.model] += choice.state != "ended"
    for name, model in now.stats.models.items():
        state = f"{model.state}, pinned" if model.pinned else model.state
        counts = (model.finished, model.failed, model.cancelled, model.completion_tokens)
        table.add_row(
            escape(name),
            state,
            str(rows[name]),
            str(waiting[name]),
            f"{speed.get(name, 0.0):.1f}",
            *map(str, counts),
        )
    return table


def _speeds(now: Sight) -> Mapping[str, float]:
    """Return model -> tokens per second, of the answers that ended lately."""
    tokens = Counter[str]()
    for ended in now.requests.ended:
        if now.now_s - ended.ended_at / 1000 <= RECENT_S:
            tokens[ended.model] += ended.completion_tokens
    return {model: count / RECENT_S for model, count in tokens.items()}


def _memory(stats: Stats) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for name, size, more in _parts(stats):
        table.add_row(name, told(size), more)
    return table


def _parts(stats: Stats) -> Iterator[tuple[str, int, str]]:
    memory, cache = stats.admission, stats.prompt_cache
    yield "weights", memory.weights_bytes, "of the default model"
    yield "rows", memory.cache_bytes, "keys, values and states"
    if cache is not None:
        looked = cache.hits + cache.misses
        rate = f"{100 * cache.hits / looked:.0f} % of {looked} prompts hit" if looked else "no prompt yet"
        most = f"of {told(cache.max_bytes)}, {cache.entries} checkpoints"
        yield "prompt cache", cache.bytes, f"{most}; {rate}, {cache.hit_tokens} tokens taken"
    budget = f", budget {told(memory.usable_bytes)}" if memory.usable_bytes else ""
    reserved = f"reserved {told(memory.reserved_bytes)}" if memory.usable_bytes else "nobody counts"
    yield "in all", memory.active_bytes, f"peak {told(memory.peak_bytes)}, {reserved}{budget}"


def _requests(now: Sight) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("request", "surface", "model", "state"):
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    for name in ("read", "cached", "drawn", "seconds"):
        table.add_column(name, justify="right")
    for row in [*_running(now.requests.running), *_ended(now.requests.ended)][:SHOWN]:
        table.add_row(*row)
    return table


def _running(requests: Iterable[Running]) -> Iterator[tuple[str, ...]]:
    for request in requests:
        states = Counter(choice.state for choice in request.choices)
        state = ", ".join(
            f"{count} {name}" if len(request.choices) > 1 else name for name, count in states.items()
        )
        names = (escape(request.id), escape(request.protocol), escape(request.model))
        yield (*names, f"[green]{state}[/]", "", "", "", f"{request.age_s:.1f}")


def _ended(choices: Iterable[Ended]) -> Iterator[tuple[str, ...]]:
    for choice in choices:
        colour = "red" if choice.reason == "failed" else "dim"
        names = (escape(choice.id), escape(choice.protocol), escape(choice.model))
        tokens = map(str, (choice.prompt_tokens, choice.cached_tokens, choice.completion_tokens))
        took_s = choice.queued_s + choice.prefill_s + choice.decode_s
        yield (*names, f"[{colour}]{escape(choice.reason)}[/]", *tokens, f"{took_s:.1f}")
