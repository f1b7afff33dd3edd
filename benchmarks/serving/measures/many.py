"""Many requests: all at the same time, and one after another whether the last is answered or not."""

import asyncio
import random

from benchmarks.serving.measures.round import Round, quantile
from benchmarks.serving.reply import Reply
from benchmarks.serving.wire import clock


async def together(here: Round) -> None:
    """Measure answers that begin at the same time."""
    for streams in here.preset.streams:
        before, begin = here.use.processor_s(), clock()
        got = await asyncio.gather(
            *(
                here.client.ask(
                    here.words.question(f"together {streams} {number}", here.preset.short),
                    here.preset.together,
                )
                for number in range(streams)
            )
        )
        good = [each for each in got if each.fault is None]
        if len(good) < streams:  # fewer would look quicker than they are
            continue
        tokens = sum(each.tokens for each in good)
        here.add(f"together{streams}_tps", tokens / (max(each.times[-1] for each in good) - begin))
        here.add(f"together{streams}_first_max_s", max(each.first_s for each in good))
        here.add(f"together{streams}_processor_ms_a_token", 1e3 * (here.use.processor_s() - before) / tokens)


async def arrivals(here: Round) -> None:
    """Measure an open loop: requests come at random times, ever more of them. Half of them share instructions."""
    for rate in here.preset.rates:
        got = await _arriving(here, rate)
        good = [each for each in got if each.fault is None]
        if len(good) < len(got):
            continue
        gaps_ms = [1e3 * gap for each in good for gap in each.gaps_s]
        for part in (50, 95, 99):
            here.add(
                f"arrivals{rate:g}_first_p{part}_s", quantile((each.first_s for each in good), part / 100)
            )
            here.add(f"arrivals{rate:g}_gap_p{part}_ms", quantile(gaps_ms, part / 100))


async def _arriving(here: Round, rate: float) -> list[Reply]:
    """Send requests at times that know nothing of each other, ``rate`` of them a second on average."""
    draw = random.Random(f"arrivals {rate}")
    begin, due = clock(), 0.0
    asked = []
    for number in range(here.preset.arrivals):
        due += draw.expovariate(rate)
        await asyncio.sleep(max(0.0, begin + due - clock()))
        asked.append(asyncio.create_task(_one(here, f"arrival {rate} {number}", number)))
    return await asyncio.gather(*asked)


async def _one(here: Round, name: str, number: int) -> Reply:
    words, preset = here.words, here.preset
    alone = words.question(name, preset.short)
    shared = [{"role": "system", "content": words.text("shared", preset.system)}, *alone]
    return await here.client.ask(shared if number % 2 else alone, preset.together)
