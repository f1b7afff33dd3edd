"""How much of what: the one place that decides what a conversation of the training is about."""

from __future__ import annotations

from collections.abc import Callable

from demo_model.conversation import Conversation, Said, Turn
from demo_model.drawing import Draw
from demo_model.tasks.arithmetic import arithmetic
from demo_model.tasks.calls import calling
from demo_model.tasks.exchange import Exchange
from demo_model.tasks.instructions import idle, instructed
from demo_model.tasks.knowledge import fact, small_talk, unknown, usage
from demo_model.tasks.memory import asking, asking_in_vain, memory, telling
from demo_model.tasks.strings import strings
from demo_model.tasks.structured import structured

THINKING = 0.3
"""The share of conversations with thinking on."""

SKILLS: list[tuple[float, Callable[..., Exchange]]] = [
    (5.0, arithmetic),
    (5.0, strings),
    (4.0, fact),
    (1.5, usage),
    (1.0, small_talk),
    (0.7, unknown),
    (1.2, structured),
]
"""Exchanges that need nothing around them, by how often they are drawn."""

KINDS: list[tuple[float, Callable[[Draw, bool], Conversation]]] = [
    (6.0, lambda draw, thinking: talk(draw, thinking)),
    (5.0, lambda draw, thinking: calling(draw, thinking=thinking)),
    (1.5, lambda draw, thinking: remembering(draw, thinking)),
    (1.2, lambda draw, thinking: obeying(draw, thinking)),
]
"""Whole conversations, by how often they are drawn."""


def conversation(draw: Draw) -> Conversation:
    """Return a conversation of the training."""
    thinking = draw.chance(THINKING)
    return draw.weighted(KINDS)(draw, thinking)


def skill(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Return an exchange that needs nothing around it."""
    return draw.weighted(SKILLS)(draw, thinking=thinking)


def talk(draw: Draw, thinking: bool) -> Conversation:
    """Return some exchanges in a row."""
    count = draw.weighted([(5, 1), (3, 2), (2, 3), (1, 4), (1, 5)])
    made = [skill(draw) for _ in range(count - 1)] + [skill(draw, thinking=thinking)]
    return Conversation(turns(made), idle(draw), thinking=thinking, skill=made[-1].reply.skill)


def remembering(draw: Draw, thinking: bool, *, apart: int | None = None) -> Conversation:
    """Return a conversation in which the user tells things and asks for them later.

    Args:
        draw: chooses.
        thinking: whether the last reply is thought about.
        apart: exchanges between the first thing told and the question for it; drawn where it is not given.
    """
    told = [memory(draw)]
    while draw.chance(0.5) and len(told) < 4:
        told.append(memory(draw, frozenset(each.topic for each in told)))
    taken = frozenset(each.topic for each in told)
    between = draw.count(0, 4) if apart is None else apart
    exchanges = [telling(draw, each) for each in told]
    others = max(0, between - len(told) + 1)
    for _ in range(others):
        exchanges.insert(draw.count(1, len(exchanges)), skill(draw))
    if apart is None:
        asked = [asking(draw, each) for each in draw.several(told, draw.count(1, len(told)))]
        if draw.chance(0.2):
            asked.insert(draw.count(0, len(asked)), asking_in_vain(draw, taken))
    else:
        asked = [asking(draw, told[0])]
    made = [*exchanges, *asked]
    return Conversation(turns(made), idle(draw), thinking=thinking, skill="memory")


def obeying(draw: Draw, thinking: bool) -> Conversation:
    """Return a conversation under instructions."""
    system, exchanges = instructed(draw)
    return Conversation(turns(exchanges), system, thinking=thinking, skill="system")


def turns(exchanges: list[Exchange]) -> tuple[Turn, ...]:
    """Return what is said in some exchanges."""
    return tuple(turn for asked, reply in exchanges for turn in (Said("user", asked), reply))
