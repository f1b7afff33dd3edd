"""How much of what in a training without a GPU: few skills, short conversations."""

from __future__ import annotations

from collections.abc import Callable

from demo_model.conversation import Conversation
from demo_model.drawing import Draw
from demo_model.mixture import obeying, remembering, turns
from demo_model.tasks import strings
from demo_model.tasks.arithmetic import small_sum
from demo_model.tasks.calls import answered, chained, no_call, single_call
from demo_model.tasks.exchange import Exchange
from demo_model.tasks.instructions import idle
from demo_model.tasks.knowledge import first_fact, small_talk, unknown, usage
from demo_model.tasks.structured import structured

THINKING = 0.08
"""The share of conversations with thinking on."""

SKILLS: list[tuple[float, Callable[..., Exchange]]] = [
    (9.0, first_fact),
    (2.0, usage),
    (1.5, small_talk),
    (0.5, unknown),
    (1.5, small_sum),
    (2.5, structured),
    (2.5, lambda draw, *, thinking: strings.repeat(draw, thinking)),
    (0.4, lambda draw, *, thinking: strings.nth(draw, thinking)),
    (0.4, lambda draw, *, thinking: strings.count_items(draw, thinking)),
    (0.4, lambda draw, *, thinking: strings.extreme(draw, thinking)),
]
"""Exchanges that need nothing around them, by how often they are drawn."""

KINDS: list[tuple[float, Callable[[Draw, bool], Conversation]]] = [
    (8.0, lambda draw, thinking: talk(draw, thinking)),
    (6.0, lambda draw, thinking: single_call(draw, thinking=thinking)),
    (2.5, lambda draw, thinking: answered(draw, thinking=thinking)),
    (1.0, lambda draw, thinking: chained(draw, thinking=thinking)),
    (1.2, lambda draw, thinking: no_call(draw, thinking=thinking)),
    (1.0, lambda draw, thinking: remembering(draw, thinking)),
    (0.5, lambda draw, thinking: obeying(draw, thinking)),
]
"""Whole conversations, by how often they are drawn; long ones are left out, which calls are most of."""

SEEN = (
    "small sums",
    "first facts",
    "tools",
    "tools, thinking",
    "no call",
    "no call, thinking",
    "results",
    "memory over 4 turns",
    "memory over 4 turns, thinking",
    "instructions",
    "json",
    "usage",
    "small talk",
    "not known",
)
"""The categories of the evaluation that this mixture is about."""


def conversation(draw: Draw) -> Conversation:
    """Return a conversation of the training."""
    thinking = draw.chance(THINKING)
    return draw.weighted(KINDS)(draw, thinking)


def talk(draw: Draw, thinking: bool) -> Conversation:
    """Return one exchange, sometimes two."""
    count = draw.weighted([(6, 1), (1, 2)])
    made = [draw.weighted(SKILLS)(draw, thinking=False) for _ in range(count - 1)]
    made.append(draw.weighted(SKILLS)(draw, thinking=thinking))
    return Conversation(turns(made), idle(draw), thinking=thinking, skill=made[-1].reply.skill)
