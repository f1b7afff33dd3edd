"""An exchange: what the user says and what the model replies; and the ways in which users say the same."""

from __future__ import annotations

from typing import NamedTuple

from demo_model.conversation import Reply
from demo_model.drawing import Draw

_OPENERS = ("Hey, ", "Hi, ", "Okay, ", "Next: ", "Quick question: ", "One more: ", "Good. ", "Thanks. ")
_ORDERS = (
    "Please ",
    "please ",
    "Could you please ",
    "Can you ",
    "Now ",
    "Could you ",
    "I want you to ",
    "Would you ",
)
_CLOSERS = (" please", ", please", " Thanks!", " Thank you.")
_IMPERATIVES = frozenset(
    [
        "Reverse",
        "Write",
        "Spell",
        "Count",
        "Convert",
        "Uppercase",
        "Put",
        "Make",
        "Lowercase",
        "Say",
        "Repeat",
        "Sort",
        "Find",
        "Give",
        "List",
        "Tell",
        "Calculate",
        "Compute",
        "Add",
        "Subtract",
        "Multiply",
        "Take",
        "Name",
        "Translate",
        "Set",
        "Send",
        "Create",
        "Search",
        "Look",
        "Book",
        "Play",
        "Turn",
        "Switch",
        "Read",
        "Delete",
        "Remove",
        "Open",
        "Run",
        "Execute",
        "Show",
        "Get",
        "Start",
        "Schedule",
        "Remind",
        "Email",
        "Mail",
        "Message",
        "Text",
        "Change",
        "Dim",
        "Heat",
        "Reserve",
        "Navigate",
        "Define",
        "Print",
        "Save",
        "Erase",
        "Order",
        "Lock",
        "Unlock",
        "Bill",
        "Invoice",
        "Fetch",
        "Load",
        "Call",
        "Phone",
        "Ring",
        "Track",
        "Register",
        "Draw",
        "Evaluate",
        "Extract",
        "Echo",
    ]
)
_KEPT = ("I ", "I'm ", "My ")


class Exchange(NamedTuple):
    """What the user says, and the reply."""

    asked: str
    reply: Reply


def worded(draw: Draw, text: str, *, keep: bool = False) -> str:
    """Say it as some users would: with an opener, without capitals, without the mark at the end.

    Args:
        draw: chooses.
        text: what is said.
        keep: the end must stay as it is, being part of what the task is about.
    """
    order = text.split(" ", 1)[0] in _IMPERATIVES
    small = text if text.startswith(_KEPT) else text[0].lower() + text[1:]
    if order and draw.chance(0.15):
        text = draw.pick(_ORDERS) + small
    elif draw.chance(0.08):
        text = draw.pick(_OPENERS) + (text if draw.chance(0.4) else small)
    elif draw.chance(0.15):
        text = small
    if keep:
        return text
    if draw.chance(0.12) and text[-1] in ".?!":
        text = text[:-1]
    if order and draw.chance(0.05) and text[-1] not in ".?!":
        text += draw.pick(_CLOSERS)
    return text
