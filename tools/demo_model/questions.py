"""The questions of the evaluation: held-out content, by category, always the same."""

from __future__ import annotations

from collections.abc import Callable

from demo_model.conversation import Conversation
from demo_model.drawing import Draw
from demo_model.mixture import obeying, remembering, turns
from demo_model.tasks.arithmetic import addition, multiplication, small_sum, subtraction
from demo_model.tasks.calls import answered, no_call, single_call
from demo_model.tasks.exchange import Exchange
from demo_model.tasks.instructions import idle
from demo_model.tasks.knowledge import fact, first_fact, small_talk, unknown, usage
from demo_model.tasks.strings import strings
from demo_model.tasks.structured import structured

_Maker = Callable[[Draw, bool], Conversation]


def _alone(task: Callable[..., Exchange]) -> _Maker:
    def make(draw: Draw, thinking: bool) -> Conversation:
        asked, reply = task(draw, thinking=thinking)
        return Conversation(turns([Exchange(asked, reply)]), idle(draw), thinking=thinking, skill=reply.skill)

    return make


CATEGORIES: dict[str, tuple[_Maker, bool]] = {
    "addition": (_alone(addition), False),
    "subtraction": (_alone(subtraction), False),
    "multiplication": (_alone(multiplication), False),
    "addition, thinking": (_alone(addition), True),
    "subtraction, thinking": (_alone(subtraction), True),
    "multiplication, thinking": (_alone(multiplication), True),
    "small sums": (_alone(small_sum), False),
    "first facts": (_alone(first_fact), False),
    "facts": (_alone(fact), False),
    "facts, thinking": (_alone(fact), True),
    "strings": (_alone(strings), False),
    "strings, thinking": (_alone(strings), True),
    "tools": (lambda draw, thinking: single_call(draw, thinking=thinking), False),
    "tools, thinking": (lambda draw, thinking: single_call(draw, thinking=thinking), True),
    "no call": (lambda draw, thinking: no_call(draw, thinking=thinking), False),
    "no call, thinking": (lambda draw, thinking: no_call(draw, thinking=thinking), True),
    "results": (lambda draw, thinking: answered(draw, thinking=thinking), False),
    "memory over 4 turns": (lambda draw, thinking: remembering(draw, thinking, apart=3), False),
    "memory over 4 turns, thinking": (lambda draw, thinking: remembering(draw, thinking, apart=3), True),
    "instructions": (obeying, False),
    "json": (_alone(structured), False),
    "usage": (_alone(usage), False),
    "small talk": (_alone(small_talk), False),
    "not known": (_alone(unknown), False),
}
"""Category -> how its conversations are made, and whether they think."""

SEED = "evaluation"


def questions(category: str, count: int) -> list[Conversation]:
    """Return the first questions of a category."""
    make, thinking = CATEGORIES[category]
    return [make(Draw(f"{SEED} {category} {number}", held=True), thinking) for number in range(count)]
