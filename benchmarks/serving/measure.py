"""One server, one round: start it, ask it everything, end it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from benchmarks.serving.client import Client
from benchmarks.serving.machine import Use, load, pace_ms
from benchmarks.serving.measures import agent, curves, many, single
from benchmarks.serving.measures.round import Round
from benchmarks.serving.presets import Measure, Preset
from benchmarks.serving.profiles import Profile, Running, running
from benchmarks.serving.results import Block
from benchmarks.serving.words import Words

START_S = 180

MEASURES: Mapping[Measure, Callable[[Round], Awaitable[None]]] = {
    "short": single.short,
    "decode": single.decode,
    "long": single.long,
    "together": many.together,
    "arrivals": many.arrivals,
    "agent": agent.agent,
    "cut": agent.cut,
    "contexts": curves.contexts,
    "rows": curves.rows,
}


def rehearsed(profile: Profile, model: Path, work: Path, peers: Path) -> str | None:
    """Start a server and end it, so that everything is compiled and in the system's cache; return why it failed."""
    with running(profile, model, work, peers) as server:
        try:
            server.until_ready(START_S)
        except RuntimeError as error:
            return f"{error}"
    return None


def measured(profile: Profile, model: Path, preset: Preset, seed: str, work: Path, peers: Path) -> Block:
    """Return what one server did in one round; whatever it fails at is told in the block."""
    busy, pace = load(), pace_ms()
    with running(profile, model, work, peers) as server:
        client = Client(server.port, str(model), profile.body, preset.patience_s)
        here = Round(client, Words(model, seed), preset, Use(server.process.pid))
        failed = None
        try:
            here.add("ready_s", server.until_ready(START_S))
            asyncio.run(_everything(here, server))
        except RuntimeError as error:
            failed = f"{error}"
    return Block(samples=dict(here.samples), counts=client.counts, load=busy, pace_ms=pace, failed=failed)


async def _everything(here: Round, server: Running) -> None:
    first = await here.client.ask(here.words.question("first", 1), 1, count=False)
    if first.fault is not None:
        raise RuntimeError(f"the first request failed: {first.fault}; {server.last_words()}")
    here.add("answering_s", first.times[0] - server.begin)
    here.add("start_processor_s", here.use.processor_s())
    here.add("resident_mb", here.use.resident_mb())
    await single.warm_up(here)
    for name in here.preset.measures:
        await MEASURES[name](here)
    here.add("peak_mb", here.use.resident_mb())
