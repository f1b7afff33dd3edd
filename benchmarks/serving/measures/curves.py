"""How cost grows: with what stands before an answer, and with answers at the same time."""

import asyncio

from benchmarks.serving.measures.round import Round, speed


async def contexts(here: Round) -> None:
    """Measure one answer behind more and more words: when they are new, when they are known, and its speed."""
    for words in here.preset.contexts:
        task = here.words.task(f"context {words}", words, "one")
        cold = await here.client.ask(task, 2, count=False)
        known = await here.client.ask(here.words.task(f"context {words}", words, "two"), here.preset.answer)
        if cold.fault is None and known.fault is None:
            here.add(f"context{words}_cold_s", cold.first_s)
            here.add(f"context{words}_known_s", known.first_s)
            here.add(f"context{words}_tps", speed(known))


async def rows(here: Round) -> None:
    """Measure the speed of all rows while they decode together, the reading of their prompts left out."""
    for streams in here.preset.streams:
        got = await asyncio.gather(
            *(
                here.client.ask(
                    here.words.question(f"rows {streams} {number}", here.preset.short), here.preset.answer
                )
                for number in range(streams)
            )
        )
        if any(each.fault is not None for each in got):
            continue
        begin, end = max(each.times[0] for each in got), min(each.times[-1] for each in got)
        pieces = sum(
            sum(begin < at <= end for at in each.times) * each.tokens / len(each.times) for each in got
        )
        if end > begin:
            here.add(f"rows{streams}_tps", pieces / (end - begin))
