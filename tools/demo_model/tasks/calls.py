"""Conversations with tools: the right call, two calls, an answer from results, and no call where none fits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from demo_model.conversation import Call, Conversation, Reply, Said, Skill, Tool, Turn
from demo_model.drawing import Draw
from demo_model.tasks.arithmetic import arithmetic
from demo_model.tasks.exchange import Exchange, worded
from demo_model.tasks.instructions import idle
from demo_model.tasks.jobs import Job, job, made_job, result_of, told, written_job
from demo_model.tasks.knowledge import fact, small_talk, usage
from demo_model.tasks.strings import strings
from demo_model.tasks.toolbox import WRITTEN

NO_TOOL = "None of my tools can do that."
_MOST = 4


def calling(draw: Draw, *, thinking: bool = False) -> Conversation:
    """Return a conversation with tools, of any kind."""
    kind = draw.weighted([(6, _single), (2, _double), (3, _answered), (2, _unfit), (2, _chat), (1, _chain)])
    return kind(draw, thinking)


def single_call(draw: Draw, *, thinking: bool = False) -> Conversation:
    """Return a conversation that needs one or two calls."""
    return (_double if draw.chance(0.25) else _single)(draw, thinking)


def no_call(draw: Draw, *, thinking: bool = False) -> Conversation:
    """Return a conversation in which no tool fits."""
    return (_unfit if draw.chance(0.5) else _chat)(draw, thinking)


def answered(draw: Draw, *, thinking: bool = False) -> Conversation:
    """Return a conversation that ends with an answer from results."""
    return _answered(draw, thinking)


def chained(draw: Draw, *, thinking: bool = False) -> Conversation:
    """Return a conversation with a job done before another one."""
    return _chain(draw, thinking)


def _single(draw: Draw, thinking: bool) -> Conversation:
    done = job(draw)
    return _made(draw, thinking, _tools(draw, [done]), _asking(draw, done), "tools")


def _double(draw: Draw, thinking: bool) -> Conversation:
    first, second = _pair(draw)
    return _made(draw, thinking, _tools(draw, [first, second]), _asking_both(draw, first, second), "tools")


def _chain(draw: Draw, thinking: bool) -> Conversation:
    """Two jobs, one after the other."""
    first, second = job(draw), job(draw)
    while second.family == first.family or second.tool.name == first.tool.name:
        second = job(draw)
    tools = _tools(draw, [first, second])
    before = [*_asking(draw, first), *_results(draw, [first])]
    return _made(draw, thinking, tools, [*before, *_asking(draw, second)], "tools")


def _answered(draw: Draw, thinking: bool) -> Conversation:
    """A call or two, what the tools answered, and what the model makes of it."""
    if draw.chance(0.25):
        jobs = list(_pair(draw))
        asked = _asking_both(draw, *jobs)
    else:
        jobs = [job(draw)]
        asked = _asking(draw, jobs[0])
    turns = [*asked, *_results(draw, jobs)]
    return _made(draw, thinking, _tools(draw, jobs), turns, "result")


def _unfit(draw: Draw, thinking: bool) -> Conversation:
    """The user wants something that no tool does."""
    wanted = job(draw)
    others = _others(draw, [wanted], draw.count(1, 3))
    tools = tuple(each.tool for each in others)
    thought = "No tool does that." if thinking else ""
    reply = Reply(NO_TOOL, thought=thought, keys=(NO_TOOL,), skill="no_call")
    return _made(
        draw, thinking, tools, [Said("user", worded(draw, wanted.asked, keep=True)), reply], "no_call"
    )


def _chat(draw: Draw, thinking: bool) -> Conversation:
    """Tools are there, but the user only talks."""
    tools = tuple(each.tool for each in _others(draw, [], draw.count(1, _MOST)))
    counting = any(_near(tool.name, ("calc", "compute", "evaluate")) for tool in tools)
    kinds = [(3.0, fact), (3.0, small_talk), (2.0, usage), (1.0, strings)] + (
        [] if counting else [(2.0, arithmetic)]
    )
    exchange = draw.weighted(kinds)(draw, thinking=thinking)
    while (
        any(_near(tool.name, ("transl", "defin", "dict", "date", "today", "time")) for tool in tools)
        and "What" in exchange.asked
    ):
        exchange = draw.weighted(kinds)(draw, thinking=thinking)
    asked, reply = exchange
    return _made(draw, thinking, tools, [Said("user", asked), replace(reply, skill="no_call")], "no_call")


def _near(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name.lower() for part in parts)


def _asking(draw: Draw, done: Job) -> list[Turn]:
    reply = Reply(thought=_why([done]), calls=(done.call,), skill="tools")
    return [Said("user", worded(draw, done.asked, keep=True)), reply]


def _asking_both(draw: Draw, first: Job, second: Job) -> list[Turn]:
    one = first.asked.rstrip(".?!")
    other = second.asked[0].lower() + second.asked[1:] if second.asked[1:2].islower() else second.asked
    asked = one + draw.pick((", and ", " and ", ". Also, ", " and then ", ", and also ")) + other
    reply = Reply(thought=_why([first, second]), calls=(first.call, second.call), skill="tools")
    return [Said("user", worded(draw, asked, keep=True)), reply]


def _pair(draw: Draw) -> tuple[Job, Job]:
    """Return two jobs: of one tool, or of two."""
    first = job(draw)
    if draw.chance(0.4):
        known = next((each for each in WRITTEN if each.names == first.family and each.slots), None)
        if known is not None:
            second = written_job(draw, known, first.tool)
            while second.call == first.call:
                second = written_job(draw, known, first.tool)
            return first, second
    second = job(draw)
    while second.family == first.family or second.tool.name == first.tool.name:
        second = job(draw)
    return first, second


def _why(jobs: list[Job]) -> str:
    """Think: which tool, and which arguments."""
    lines = []
    for each in jobs:
        shown = ", ".join(f"{key} is {_written(value)}" for key, value in each.call.arguments.items())
        lines.append(f"{each.call.name} fits" + (f": {shown}" if shown else ", without arguments"))
    return "\n".join(lines)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _results(draw: Draw, jobs: list[Job]) -> list[Turn]:
    """Return what the tools answer, and what the model says to it."""
    shown: list[Turn] = []
    parts: list[str] = []
    keys: list[str] = []
    for each in jobs:
        result: dict[str, Any] | str = result_of(draw, each.family)
        if draw.chance(0.08):
            result = {
                "error": draw.pick(("not found", "no connection", "not allowed", "timeout", "unknown id"))
            }
        elif draw.chance(0.15):
            result = " ".join(str(value) for value in result.values())
        shown.append(
            Said("tool", result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))
        )
        said = told(result)
        parts.append(
            said if len(jobs) == 1 or not each.subject else f"{each.subject}: {said[0].lower()}{said[1:]}"
        )
        keys += [result] if isinstance(result, str) else [_written(value) for value in result.values()]
    return [
        *shown,
        Reply("\n".join(parts), thought="I say what came back.", keys=tuple(keys), skill="result"),
    ]


def _tools(draw: Draw, jobs: list[Job]) -> tuple[Tool, ...]:
    """Return the tools of these jobs among others, up to four."""
    own: dict[str, Tool] = {each.tool.name: each.tool for each in jobs}
    count = draw.count(0, _MOST - len(own))
    tools = [*own.values(), *(each.tool for each in _others(draw, jobs, count))]
    draw.rng.shuffle(tools)
    return tuple(tools)


def _others(draw: Draw, jobs: list[Job], count: int) -> list[Job]:
    """Return jobs that have nothing to do with these."""
    found: list[Job] = []
    while len(found) < count:
        made = _rival(draw, jobs) if jobs and draw.chance(0.25) else job(draw)
        near = [*jobs, *found]
        if all(
            made.family != each.family and made.tool.name != each.tool.name for each in near
        ) and not _alike(made, near):
            found.append(made)
    return found


def _rival(draw: Draw, jobs: list[Job]) -> Job:
    """Return a made-up job that shares the verb or the noun with one of these."""
    words = set(draw.pick(jobs).family.split(" "))
    for _ in range(40):
        made = made_job(draw)
        if words & set(made.family.split(" ")):
            return made
    return job(draw)


def _alike(made: Job, near: list[Job]) -> bool:
    """Say whether a job could be taken for another: same verb and same thing."""
    return any(set(made.family.split(" ")) <= set(each.family.split(" ")) for each in near)


def _made(
    draw: Draw, thinking: bool, tools: tuple[Tool, ...], turns: list[Turn], skill: Skill
) -> Conversation:
    before: list[Turn] = []
    if draw.chance(0.15):
        exchange: Exchange = small_talk(draw)
        before = [Said("user", exchange.asked), exchange.reply]
    return Conversation((*before, *turns), idle(draw), tools, thinking, skill)


__all__ = ["NO_TOOL", "Call", "answered", "calling", "chained", "no_call", "single_call"]
