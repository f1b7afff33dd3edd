"""One request at a time."""

from benchmarks.serving.measures.round import Round, quantile, speed


async def warm_up(here: Round) -> None:
    """Let everything happen that happens once: what is compiled on first use, for a few widths."""
    for name in ("warm", "warmer"):
        await here.client.ask(here.words.task(name, here.preset.long, name), 4, count=False)
    await here.client.ask(here.words.question("warmest", here.preset.short), 4, stream=False, count=False)


async def short(here: Round) -> None:
    """Measure the first token of short questions."""
    for number in range(here.preset.repeats):
        got = await here.client.ask(here.words.question(f"short {number}", here.preset.short), 2, count=False)
        if got.fault is None:
            here.add("first_short_s", got.first_s)


async def decode(here: Round) -> None:
    """Measure one answer: its speed, the gaps in it, and the processor time of a token."""
    for number in range(here.preset.repeats):
        before = here.use.processor_s()
        got = await here.client.ask(
            here.words.question(f"decode {number}", here.preset.short), here.preset.answer
        )
        if got.fault is None:
            used = here.use.processor_s() - before
            here.add("decode_tps", speed(got))
            gaps_ms = [1e3 * gap for gap in got.gaps_s]
            here.add("gap_p50_ms", quantile(gaps_ms, 0.5))
            here.add("gap_p95_ms", quantile(gaps_ms, 0.95))
            here.add("processor_ms_a_token", 1e3 * used / got.tokens)


async def long(here: Round) -> None:
    """Measure the first token behind long instructions: new ones, the same again, and with another question."""
    for number in range(here.preset.repeats):
        name = f"long {number}"
        for kind, question in (("cold", name), ("same", name), ("prefix", f"other {number}")):
            got = await here.client.ask(here.words.task(name, here.preset.long, question), 2, count=False)
            if got.fault is None:
                here.add(f"first_{kind}_s", got.first_s)
                here.add(f"cached_{kind}", got.cached)
