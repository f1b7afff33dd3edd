"""Greedy answers from the torch network, many at a time and without caches: quick enough to look in between."""

from __future__ import annotations

import time
from pathlib import Path

import torch

from demo_model.codec import TURN_END, Codec
from demo_model.conversation import Conversation
from demo_model.delta import CHUNK
from demo_model.network import Network
from demo_model.questions import CATEGORIES, questions
from demo_model.render import prompt
from demo_model.scoring import score

LONGEST = 480


@torch.no_grad()
def answers(
    network: Network,
    codec: Codec,
    asked: list[Conversation],
    *,
    device: str,
    dtype: torch.dtype,
    until: float,
) -> list[tuple[str, bool]]:
    """Return what the network says to each, and whether it ended by itself."""
    prompts = [codec.encode(prompt(each)) for each in asked]
    longest = max(map(len, prompts))
    width = -(-(longest + LONGEST) // CHUNK) * CHUNK
    tokens = torch.zeros(len(prompts), width, dtype=torch.long)
    for place, ids in enumerate(prompts):
        tokens[place, : len(ids)] = torch.tensor(ids)
    tokens = tokens.to(device)
    lengths = torch.tensor([len(ids) for ids in prompts], device=device)
    rows = torch.arange(len(prompts), device=device)
    running = torch.ones_like(lengths, dtype=torch.bool)
    for _ in range(LONGEST):
        seen = -(-int(lengths.max()) // CHUNK) * CHUNK
        hidden = network(tokens[:, :seen], dtype).view(len(prompts), seen, -1)[rows, lengths - 1]
        chosen = network.head(hidden).argmax(-1)
        tokens[rows[running], lengths[running]] = chosen[running]
        lengths = lengths + running
        running = running & (chosen != TURN_END)
        if not running.any() or time.monotonic() > until:
            break
    out = []
    for place, ids in enumerate(prompts):
        said = tokens[place, len(ids) : int(lengths[place])].tolist()
        ended = said[-1:] == [TURN_END]
        out.append((codec.decode(said[:-1] if ended else said), ended))
    return out


def evaluate(
    network: Network,
    tokenizer: Path,
    count: int,
    *,
    device: str,
    dtype: torch.dtype,
    until: float,
    wrong: int = 3,
) -> dict[str, dict[str, float]]:
    """Score the categories until the clock says ``until``; print the table and some wrong answers; return the scores."""
    codec = Codec(tokenizer)
    table: dict[str, dict[str, float]] = {}
    for category in CATEGORIES:
        if time.monotonic() > until:
            print(f"{category:32} not asked: no time is left", flush=True)
            continue
        asked = questions(category, count)
        said = answers(network, codec, asked, device=device, dtype=dtype, until=until)
        scores = [score(each, text, ended=ended) for each, (text, ended) in zip(asked, said, strict=True)]
        table[category] = {
            "right": sum(each.right for each in scores) / count,
            "formed": sum(each.formed for each in scores) / count,
        }
        print(
            f"{category:32} right {table[category]['right']:7.1%}  formed {table[category]['formed']:7.1%}",
            flush=True,
        )
        missed = [
            (each, text) for each, (text, _), done in zip(asked, said, scores, strict=True) if not done.right
        ]
        for each, text in missed[:wrong]:
            print(
                f"    asked {each.turns[-2]!r}\n    right {each.turns[-1]!r}\n    said  {text!r}", flush=True
            )
    return table
