"""A run as Markdown: medians side by side, and how many times the first server's they are."""

import re
from collections.abc import Callable

from benchmarks.serving.results import Block, Run

LABELS = (
    (r"ready_s", "port answers, s"),
    (r"answering_s", "first answer after the start, s"),
    (r"start_processor_s", "processor time until then, s"),
    (r"resident_mb", "memory once loaded, MB"),
    (r"peak_mb", "memory at the end, MB"),
    (r"first_short_s", "first token of a short question, s"),
    (r"first_cold_s", "first token behind new instructions, s"),
    (r"first_same_s", "the same once more, s"),
    (r"first_prefix_s", "another question behind them, s"),
    (r"cached_(\w+)", r"tokens known, as reported, \1"),
    (r"decode_tps", "one stream, tokens/s"),
    (r"gap_p(\d+)_ms", r"gap between tokens, p\1, ms"),
    (r"processor_ms_a_token", "processor time of a token, ms"),
    (r"together(\d+)_tps", r"\1 at the same time, tokens/s"),
    (r"together(\d+)_first_max_s", r"\1 at the same time, last first token, s"),
    (r"together(\d+)_processor_ms_a_token", r"\1 at the same time, processor time of a token, ms"),
    (r"agent_s", "conversation of an agent, s"),
    (r"agent_last_first_s", "first token of its last turn, s"),
    (r"agent_processor_s", "its processor time, s"),
    (r"agent_cached", "tokens known in it, as reported"),
    (r"first_behind_cut_s", "first token behind 4 broken off, s"),
    (r"arrivals([\d.]+)_first_p(\d+)_s", r"\1 arrivals a second, first token, p\2, s"),
    (r"arrivals([\d.]+)_gap_p(\d+)_ms", r"\1 arrivals a second, gap, p\2, ms"),
    (r"context(\d+)_cold_s", r"first token behind \1 new words, s"),
    (r"context(\d+)_known_s", r"first token behind \1 known words, s"),
    (r"context(\d+)_tps", r"one stream behind \1 words, tokens/s"),
    (r"rows(\d+)_tps", r"\1 rows decoding, tokens/s"),
)
"""Names of samples, and what they are called."""


def markdown(run: Run) -> str:
    """Return a section on a run."""
    first, *others = run.blocks
    ratios = [f"{first} / {other}" for other in others]
    head = ["what", *run.blocks, *ratios]
    lines = [
        f"## {run.model}",
        "",
        f"{run.begun}, {run.machine}; {max(map(len, run.blocks.values()))} rounds; medians (least to most).",
        "",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(_row(run, name) for name in run.names()),
        *_counted(run),
        "",
        *(f"- {server}: {what}" for server, what in run.what.items()),
        *_faults(run),
    ]
    return "\n".join(lines) + "\n"


def label(name: str) -> str:
    """Return what a name of samples is called; itself where nobody has said."""
    for pattern, text in LABELS:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, text, name)
    return name


def _row(run: Run, name: str) -> str:
    first, *others = (run.median(server, name) for server in run.blocks)
    ratios = ["" if first is None or not other else f"{first / other:.2f}" for other in others]
    cells = [_cell(run.values(server, name)) for server in run.blocks]
    return f"| {' | '.join([label(name), *cells, *ratios])} |"


def _cell(values: list[float]) -> str:
    if not values:
        return ""
    ranked = sorted(values)
    middle = (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2
    return f"{middle:.3g}" if len(values) == 1 else f"{middle:.3g} ({ranked[0]:.3g} to {ranked[-1]:.3g})"


def _counted(run: Run) -> list[str]:
    blanks = " |" * (len(run.blocks) - 1)
    rows: tuple[tuple[str, Callable[[Block], int]], ...] = (
        ("requests", lambda block: block.counts.requests),
        ("errors", lambda block: block.counts.errors),
        ("answers of another length", lambda block: block.counts.short),
        ("wrong usage", lambda block: block.counts.miscounted),
    )
    lines = [
        f"| {name} | {' | '.join(str(sum(map(of, rounds))) for rounds in run.blocks.values())} |{blanks}"
        for name, of in rows
    ]
    loads = (_cell([block.load for block in rounds]) for rounds in run.blocks.values())
    paces = (_cell([block.pace_ms for block in rounds]) for rounds in run.blocks.values())
    return [
        *lines,
        f"| load before | {' | '.join(loads)} |{blanks}",
        f"| pace, ms | {' | '.join(paces)} |{blanks}",
    ]


def _faults(run: Run) -> list[str]:
    return [
        f"- {server}, fault: {' '.join(note.split())}"
        for server, rounds in run.blocks.items()
        for note in dict.fromkeys(
            note for block in rounds for note in [*block.counts.notes, block.failed] if note
        )
    ]
