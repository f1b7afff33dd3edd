"""Messages and the system prompt -> neutral messages; order is kept, repairs are the prompt room's.

Text blocks that follow each other are lines of one text, but in answers of the assistant: there a block may end in the
middle of a sentence. Results of tools stand in messages of their own, where they stood among the blocks.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, ImageBytes, ImageUrl, Message, Part, Result, Text, Thinking
from mlxp_protocols.anthropic_messages import wire
from mlxp_protocols.anthropic_messages import wire_blocks as blocks
from mlxp_protocols.anthropic_messages.decode_blocks import LINE, join_texts, read_block

_BILLING = "x-anthropic-billing-header:"
"""How a block begins that Claude Code puts first: accounts, no words. It is another in every request, so no prompt
would begin like the one before."""


def read_conversation(
    system: str | Sequence[blocks.TextBlock] | None, turns: Sequence[wire.Turn]
) -> tuple[Message, ...]:
    """Return the conversation, the system prompt first; messages that say nothing are left out.

    Raises:
        BadRequest: a block that we refuse by name or that its role cannot have, a damaged image, or no words at all.
    """
    told = [message for at, turn in enumerate(turns) for message in _turn(turn, f"messages[{at}]")]
    if not told:
        raise BadRequest("messages: none of them says anything; send a user message", param="messages")
    return (*_system(system), *told)


def _system(system: str | Sequence[blocks.TextBlock] | None) -> tuple[Message, ...]:
    match system:
        case None:
            words = ""
        case str():
            words = system
        case _:
            told = (block.text for block in system if block.text and not block.text.startswith(_BILLING))
            words = LINE.join(told)
    return (Message("system", (Text(words),)),) if words else ()


def _turn(turn: wire.Turn, place: str) -> Iterator[Message]:
    match turn.content:
        case None:
            parts: list[Part] = []
        case str(text):
            parts = [Text(text)]
        case list(content):
            parts = list(_parts(content, turn.role, f"{place}.content"))
    gap = "" if turn.role == "assistant" else LINE
    for is_result, run in groupby(parts, key=_is_result):
        if is_result:
            yield from (Message("tool", (result,)) for result in run)
        elif said := join_texts(run, gap):
            yield Message(turn.role, said)


def _parts(content: Sequence[wire.Block], role: wire.Role, place: str) -> Iterator[Part]:
    for at, block in enumerate(content):
        where = f"{place}[{at}]"
        for part in read_block(block, where):
            if not _fits(part, role):
                raise BadRequest(
                    f"{where}: this block cannot stand in a message of the role {role}; "
                    "calls and thinking are the assistant's, images the user's, and a system message is text",
                    param=where,
                )
            yield part


def _fits(part: Part, role: wire.Role) -> bool:
    match role, part:
        case _, Text():
            return True
        case "user", Call() | Thinking():
            return False
        case "assistant", ImageBytes() | ImageUrl():
            return False
        case "system", _:
            return False
        case _:
            return True


def _is_result(part: Part) -> bool:
    match part:
        case Result():
            return True
        case _:
            return False
