"""Score a model folder through the server's own engine: ``python -m demo_model.evaluate FOLDER --out scores.json``.

Questions are held-out content, drawn by a seed of their own, and go the way of any request: template, tokenizer,
engine, reader. Answers are greedy. Runs in the server's environment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from demo_model.conversation import Conversation, Reply, Said, plain
from demo_model.questions import CATEGORIES, questions
from demo_model.scoring import Answer, Score, judge
from mlxp_core.testing.answering import Answering, answering
from mlxp_core.types import (
    Call,
    CallBroken,
    CallDelta,
    CallStarted,
    Event,
    Finished,
    GenerateRequest,
    Message,
    Result,
    Sampling,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolSpec,
)

TOGETHER = 32
"""Questions that are answered in one batch."""

LONGEST = 480
"""Most tokens of an answer."""


def request(made: Conversation, number: int) -> GenerateRequest:
    """Return what a client asks to get the last reply of a conversation."""
    return GenerateRequest(
        id=f"question-{number}",
        model="",
        prompt=tuple(messages(made)),
        tools=tuple(
            ToolSpec(tool.name, tool.description, tool.spec()["function"]["parameters"])
            for tool in made.tools
        ),
        sampling=Sampling(temperature=0.0),
        thinking=made.thinking,
        max_tokens=LONGEST,
    )


def messages(made: Conversation) -> Iterable[Message]:
    """Return everything before the last reply."""
    if made.system:
        yield Message("system", (Text(made.system),))
    waiting: list[str] = []
    for place, turn in enumerate(made.turns[:-1]):
        match turn:
            case Said("tool", text):
                yield Message("tool", (Result(waiting.pop(0), (Text(text),)),))
            case Said(_, text):
                yield Message("user", (Text(text),))
            case Reply() as reply:
                waiting = [f"call-{place}-{number}" for number in range(len(reply.calls))]
                yield Message("assistant", (*_said(made, place, reply), *map(_call, waiting, reply.calls)))


def _said(made: Conversation, place: int, reply: Reply) -> Iterable[Text | Thinking]:
    if made.thinking and reply.thought and place > made.last_question():
        yield Thinking(plain(reply.thought))
    if reply.text:
        yield Text(plain(reply.text))


def _call(name: str, call: Any) -> Call:
    return Call(name, call.name, json.dumps(call.arguments))


def answer(events: Sequence[Event]) -> tuple[Answer | None, bool]:
    """Return an answer taken apart, ``None`` where it breaks its format, and whether it ended by itself."""
    thought = text = ""
    calls: list[list[str]] = []
    ended = broken = False
    for event in events:
        match event:
            case ThinkingDelta(more):
                thought += more
            case TextDelta(more):
                text += more
            case CallStarted(name=name):
                calls.append([name, ""])
            case CallDelta(arguments=more):
                calls[-1][1] += more
            case CallBroken():
                broken = True
            case Finished(reason=reason, warnings=warnings):
                ended = reason in {"stop", "calls"}
                broken = broken or bool(warnings)
    if broken or any(mark in text for mark in ("<think>", "</think>", "<tool_call>", "<function=", "<|im_")):
        return None, ended
    return Answer(thought, text.strip("\n"), tuple((name, json.loads(read)) for name, read in calls)), ended


def scored(model: Answering, asked: Sequence[Conversation]) -> list[tuple[Score, Answer | None]]:
    """Return what is said of each answer, and the answer."""
    found = []
    for start in range(0, len(asked), TOGETHER):
        some = asked[start : start + TOGETHER]
        heard = model.ask(*(request(made, start + place) for place, made in enumerate(some)))
        for made, events in zip(some, heard, strict=True):
            said, ended = answer(events)
            found.append((judge(made, said, ended=ended), said))
    return found


def evaluate(folder: Path, categories: Sequence[str], count: int, *, wrong: int) -> dict[str, Any]:
    """Return the shares of right and of well-formed answers by category; print them as they come."""
    table: dict[str, Any] = {}
    began = time.monotonic()
    with answering(folder) as model:
        for category in categories:
            asked = questions(category, count)
            found = scored(model, asked)
            right = sum(score.right for score, _ in found) / count
            formed = sum(score.formed for score, _ in found) / count
            table[category] = {"right": right, "formed": formed, "asked": count}
            print(f"{category:32} right {right:7.1%}  formed {formed:7.1%}", flush=True)
            missed = [
                (made, said) for made, (score, said) in zip(asked, found, strict=True) if not score.right
            ]
            for made, said in missed[:wrong]:
                print(
                    f"    asked {made.turns[-2]!r}\n    right {made.turns[-1]!r}\n    said  {said!r}",
                    flush=True,
                )
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    return table


def main(arguments: list[str]) -> None:
    """Evaluate."""
    parser = argparse.ArgumentParser(prog="demo_model.evaluate", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the model")
    parser.add_argument("--count", type=int, default=200, help="questions of each category")
    parser.add_argument("--only", nargs="*", choices=CATEGORIES, default=list(CATEGORIES), metavar="CATEGORY")
    parser.add_argument("--wrong", type=int, default=2, help="wrong answers to print of each category")
    parser.add_argument("--out", type=Path, help="where the scores are written")
    chosen = parser.parse_args(arguments)
    table = evaluate(chosen.folder, chosen.only, chosen.count, wrong=chosen.wrong)
    if chosen.out:
        chosen.out.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # for the reason that mlxp_core.cli.main.run gives
