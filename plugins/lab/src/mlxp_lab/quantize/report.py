"""What a quantization did to a model, in JSON for programs and in Markdown with a picture for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from mlxp_lab.quantize.allocate import Measured
from mlxp_lab.quantize.files import PAGE, REPORT
from mlxp_lab.quantize.folder import write_json
from mlxp_lab.quantize.plan import Plan

PICTURE = "sensitivity.svg"


class Line(Struct, frozen=True, kw_only=True):
    """One network in the comparison, held against the reference on held-out texts.

    Attributes:
        kl: mean KL divergence from the reference, in nats a token.
        agreement: share of tokens on which both find the same one likeliest.
    """

    name: str
    bits_per_weight: float
    size_bytes: int
    perplexity: float
    kl: float
    agreement: float


class Report(Struct, frozen=True, kw_only=True):
    """What was done and what came of it.

    Attributes:
        method: ``uniform`` or ``mixed``.
        texts: what was measured with, and on.
        lines: the reference, what was made, and what all modules alike would have been at about its size.
        sensitivity: module -> choice -> KL in nats, when it alone is packed so.
        modules: module -> choice.
    """

    method: str
    base_model: str
    bits_per_weight: float
    target_bpw: float | None
    size_bytes: int
    texts: Mapping[str, str]
    lines: Sequence[Line] = ()
    sensitivity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    kv_bits: float | None = None


def labels(plan: Plan) -> dict[str, str]:
    """Return module -> name of its choice."""
    return {path: "plain" if choice is None else choice.label for path, choice in plan.items()}


def write_report(report: Report, folder: Path) -> None:
    """Write the report beside a model."""
    told: dict[str, Any] = msgspec.to_builtins(report)
    write_json(folder / REPORT, told)
    if report.sensitivity:
        (folder / PICTURE).write_text(picture(report.sensitivity), encoding="utf-8")
    (folder / PAGE).write_text(page(report), encoding="utf-8")


def page(report: Report) -> str:
    """Return the report in Markdown."""
    lines = [
        f"# {report.base_model}, packed",
        "",
        (
            f"{report.method.capitalize()}: {report.bits_per_weight:.2f} bits a number, scales included; "
            f"{report.size_bytes / 1e9:.3f} GB of weights."
        ),
    ]
    if report.lines:
        lines += [
            "",
            f"Held against the model as it was, on {report.texts.get('held_out', 'held-out texts')}:",
            "",
            "| | bits | GB | perplexity | KL (nats) | same likeliest token |",
            "|---|---|---|---|---|---|",
            *(
                f"| {line.name} | {line.bits_per_weight:.2f} | {line.size_bytes / 1e9:.3f} | {line.perplexity:.3f} "
                f"| {line.kl:.5f} | {line.agreement:.1%} |"
                for line in report.lines
            ),
        ]
    if report.kv_bits is not None:
        lines += ["", f"Keys and values: {report.kv_bits:.2f} bits on average, see kv_config.json."]
    if report.sensitivity:
        lines += [
            "",
            "How much each block hurts when one of its modules alone is packed:",
            "",
            f"![]({PICTURE})",
        ]
    return "\n".join(lines) + "\n"


def picture(sensitivity: Mapping[str, Mapping[str, float]]) -> str:
    """Return an SVG: for each block, the largest sensitivity of its modules, one line for each choice."""
    series = by_block(sensitivity)
    width, height, left, bottom = 720, 260, 60, 30
    most = max((value for points in series.values() for value in points.values()), default=0.0) or 1.0
    last = max((block for points in series.values() for block in points), default=0) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="12">',
        f'<line x1="{left}" y1="{height - bottom}" x2="{width}" y2="{height - bottom}" stroke="#888"/>',
        f'<line x1="{left}" y1="10" x2="{left}" y2="{height - bottom}" stroke="#888"/>',
        f'<text x="4" y="20">{most:.3g}</text><text x="4" y="{height - bottom}">0 nats</text>',
        f'<text x="{left}" y="{height - 8}">block 0</text>',
        f'<text x="{width - 60}" y="{height - 8}">{last}</text>',
    ]
    colours = ("#b3261e", "#c77700", "#2e7d32", "#1565c0", "#6a1b9a", "#455a64")
    for place, (label, points) in enumerate(sorted(series.items())):
        colour = colours[place % len(colours)]
        line = " ".join(
            f"{left + block / last * (width - left - 20):.1f},"
            f"{height - bottom - value / most * (height - bottom - 20):.1f}"
            for block, value in sorted(points.items())
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{width - 110}" y="{24 + 16 * place}" fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def by_block(sensitivity: Mapping[str, Mapping[str, float]]) -> dict[str, dict[int, float]]:
    """Return choice -> block -> the largest sensitivity of its modules."""
    series: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for path, told in sensitivity.items():
        block = Measured(path, {}, 0).block
        if block is None:
            continue
        for label, value in told.items():
            series[label][block] = max(series[label].get(block, 0.0), value)
    return series


def nearest(sizes: Mapping[str, int], size: int) -> list[str]:
    """Return the names whose sizes are nearest on either side, the smaller one first."""
    below = [name for name in sizes if sizes[name] <= size]
    above = [name for name in sizes if sizes[name] > size]
    return [*sorted(below, key=lambda n: sizes[n])[-1:], *sorted(above, key=lambda n: sizes[n])[:1]]
