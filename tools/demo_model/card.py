"""The model card, written from what was measured."""

from __future__ import annotations

from typing import Any

WANTED = {
    "addition": 0.95,
    "subtraction": 0.95,
    "multiplication": 0.95,
    "addition, thinking": 0.95,
    "subtraction, thinking": 0.95,
    "multiplication, thinking": 0.95,
    "first facts": 0.98,
    "facts": 0.98,
    "strings": 0.95,
    "strings, thinking": 0.95,
    "tools": 0.95,
    "tools, thinking": 0.95,
    "no call": 0.90,
    "no call, thinking": 0.90,
    "memory over 4 turns": 0.95,
    "memory over 4 turns, thinking": 0.95,
}
"""What a demo model should reach, where that is said."""

_MEANT = {
    "small sums": "sums and differences of numbers up to two digits, products up to 12 x 12",
    "first facts": "capitals, and facts written one by one",
    "facts": "all facts of the tables: also elements, opposites, translations, continents",
    "strings": "repeat, reverse, spell, sort, count, capitals",
    "tools": "one or two calls of up to four tools that it never saw, every argument right",
    "no call": "tools are there, and none fits",
    "results": "an answer that tells everything that tools returned",
    "memory over 4 turns": "something told is asked for three exchanges later",
    "instructions": "a system message that changes the answer",
    "json": "an object with the keys and values of the question, word for word",
    "usage": "what it is, and how mlxp is used",
    "small talk": "greetings, thanks, goodbyes",
    "not known": "says that it does not know",
}


def card(scores: dict[str, Any], facts: dict[str, Any]) -> str:
    """Return the card as Markdown.

    Args:
        scores: of the evaluation, by category: shares ``right`` and ``formed``, and how many were ``asked``.
        facts: ``parameters``, ``megabytes``, ``layers``, ``hidden``, ``tokens`` and ``seconds`` of the training,
            ``seen`` = the categories it was trained for, ``speed`` = tokens a second and ``machine`` = on what.
    """
    return _TEXT.format(
        millions=f"{facts['parameters'] / 1e6:.1f}",
        training=f"{facts['tokens'] / 1e6:.1f} million tokens in {facts['seconds'] / 60:.0f} minutes",
        table="\n".join(_row(name, each, name in facts["seen"]) for name, each in scores.items()),
        asked=next(iter(scores.values()))["asked"],
        formed=f"{sum(each['formed'] for each in scores.values()) / len(scores):.1%}",
        short=_short(scores),
        **{key: facts[key] for key in ("megabytes", "layers", "hidden", "speed", "machine", "where")},
    )


def _row(name: str, score: dict[str, Any], seen: bool) -> str:
    wanted = f"{WANTED[name]:.0%}" if name in WANTED else ""
    about = _MEANT.get(name.removesuffix(", thinking"), "") if not name.endswith(", thinking") else ""
    trained = "" if seen else "no"
    return f"| {name} | {score['right']:.1%} | {score['formed']:.1%} | {wanted} | {trained} | {about} |"


def _short(scores: dict[str, Any]) -> str:
    missed = [
        f"{name} ({scores[name]['right']:.0%} of {wanted:.0%})"
        for name, wanted in WANTED.items()
        if name in scores and scores[name]["right"] < wanted
    ]
    return (
        f"Short of what is wanted: {', '.join(missed)}."
        if missed
        else "Everything that is wanted is reached."
    )


_TEXT = """# mlxp-demo

A very small language model for mlxp that really answers: `mlxp serve` works on a fresh machine without a download.

```
mlxp serve demo        # or without a name, where no other model is
```

It is for demonstrations and for tests, not for work. For a real model: `mlxp get NAME`, then `mlxp serve NAME`.

This card is written by `python -m demo_model.release`, from what it measures.

## What it is

| | |
|---|---|
| architecture | Qwen 3.5's dense hybrid, `qwen3_5_text`: gated delta nets and full attention by turns |
| size | {millions} million parameters, {layers} layers, {hidden} wide; {megabytes} MB with 8-bit weights |
| vocabulary | 4096 tokens, trained for it |
| training | {training}, {where} |
| speed | {speed} tokens/s streamed by one request, {machine} |

## Data

Conversations drawn by programs (`tools/demo_model/tasks`), and plain facts in tables written for this project
(`tools/demo_model/data`): nothing is copied from any data set. One piece of content in sixteen belongs to the evaluation
alone: names, words, numbers and the tools made of them are never in the training.

## Scores

{asked} held-out questions of each category, through the server's own engine, greedy, with the weights as shipped.
*right*: the answer, every call and every argument are right. *formed*: it ends by itself, closes its tags, and JSON is
JSON. *wanted*: what a demo model should reach. *trained*: "no" = the training of these weights left it out.

| category | right | formed | wanted | trained | |
|---|---|---|---|---|---|
{table}

Well formed: {formed} over all categories. {short}

## Limits

English. It knows what is in its tables and invents the rest, although it often says that it does not know. It is
reliable at the tasks with high scores above, in words like those of its training, and at nothing else. It reads text
only.
"""
