"""What agents do: conversations that grow by every turn, and answers that are broken off."""

import asyncio

from benchmarks.serving.measures.round import Round
from benchmarks.serving.wire import clock

CUT = 4
CUT_TOKENS = 2000


async def agent(here: Round) -> None:
    """Measure a conversation in which every turn brings a tool's output and gets a short answer."""
    preset, words = here.preset, here.words
    messages = [{"role": "system", "content": words.text("agent", preset.system)}]
    before, total, cached = here.use.processor_s(), 0.0, 0
    for turn in range(preset.turns):
        messages.append({"role": "user", "content": words.text(f"turn {turn}", preset.user)})
        got = await here.client.ask(messages, preset.reply)
        if got.fault is not None:
            return
        total += got.whole_s
        cached += got.cached or 0
        messages.append({"role": "assistant", "content": got.text.strip()})
    here.add("agent_s", total)
    here.add("agent_last_first_s", got.first_s)
    here.add("agent_processor_s", here.use.processor_s() - before)
    here.add("agent_cached", cached)


async def cut(here: Round) -> None:
    """Measure a question behind four answers whose clients have left in the middle."""
    asked = [here.words.question(f"cut {number}", here.preset.short) for number in range(CUT)]
    wires = [wire for _, wire in [await here.client.open(each, CUT_TOKENS) for each in asked]]
    until = clock() + here.preset.patience_s
    while any(len(wire.marks) <= CUT for wire in wires) and clock() < until:  # noqa: ASYNC110  # others write there
        await asyncio.sleep(0.01)
    for wire in wires:
        wire.transport.abort()
    got = await here.client.ask(here.words.question("behind", here.preset.short), 8, count=False)
    if got.fault is None:
        here.add("first_behind_cut_s", got.first_s)
