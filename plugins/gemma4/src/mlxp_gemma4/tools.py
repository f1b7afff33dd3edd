"""How Gemma 4 writes tool calls: ``<|tool_call>call:NAME{ARGUMENTS}<tool_call|>``, one after the other."""

import re
from collections.abc import Sequence

from mlxp_core.contracts import CallArguments, CallEnd, CallName, CallSign, Malformed, ToolFormat, ToolParser
from mlxp_core.reading import CallBlock, overlap
from mlxp_core.types import ToolSpec
from mlxp_gemma4.calling import BEGIN, END, grammar
from mlxp_gemma4.notation import MARK, ObjectReader

_CALL = "call:"
_HEAD = re.compile(r"call:([^{}<\n]*)\{")
_HEAD_BEGUN = re.compile(r"call:[^{}<\n]*")


class NotedCall:
    """Reads one call; a ``ToolParser`` for what begins with ``call:``.

    The name is whatever stands before the brace. A tool that the request does not have is no call; it is read to its
    end all the same and comes back as text. A call that breaks is read to the end of its block.

    Args:
        tools: the tools of the request.
        stops: text that cannot be part of a call but within its strings.
    """

    def __init__(self, tools: Sequence[ToolSpec], stops: Sequence[str]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._stops = tuple(stops)
        self._text = ""
        self._arguments: ObjectReader | None = None
        self._unknown = ""  # why this is no call, although it may be well written
        self._skipped = 0  # of the text: the call does not end before
        self.rest: str | None = None

    def feed(self, text: str) -> list[CallSign]:
        """Take more text; say what became certain."""
        self._text += text
        signs: list[CallSign] = []
        if self._arguments is None:
            text = self._read_head(signs)
        if self._arguments is not None:
            self._read_arguments(self._arguments, text, signs)
        return signs

    def finish(self, *, cut: bool) -> list[CallSign]:
        """Report the call: without its closing brace it is not complete, whoever ended the answer."""
        if self.rest is not None:
            return []
        self.rest = ""
        broken = self._arguments.why if self._arguments is not None else ""
        ended = "the answer was cut off in a tool call" if cut else "the answer ended within a tool call"
        return [Malformed(self._text, self._unknown or broken or ended)]

    def _read_head(self, signs: list[CallSign]) -> str:
        """Read the name; return what stands behind it, the brace first."""
        found = _HEAD.match(self._text)
        if found is not None:
            name = found[1].strip()
            tool = self._tools.get(name)
            if tool is None:
                self._unknown = f"the request has no tool named {name!r}"
            else:
                signs.append(CallName(name))
            self._arguments = ObjectReader(tool or ToolSpec(name))
            return self._text[found.end() - 1 :]
        if not _HEAD_BEGUN.fullmatch(self._text):
            signs.append(Malformed(_CALL, "this is not the head of a tool call"))
            self.rest = self._text[len(_CALL) :]
        return ""

    def _read_arguments(self, arguments: ObjectReader, text: str, signs: list[CallSign]) -> None:
        if arguments.rest is None:
            fragment = arguments.feed(text)
            if fragment and not self._unknown:
                signs.append(CallArguments(fragment))
            self._skipped = len(self._text) - len(arguments.rest or "")
        if arguments.why:
            self._skip(arguments.why, signs)
        elif arguments.rest is not None:
            self.rest = arguments.rest
            signs.append(Malformed(self._own_text(), self._unknown) if self._unknown else CallEnd())

    def _skip(self, why: str, signs: list[CallSign]) -> None:
        """Look for the end of a block whose call is broken."""
        places = [place for stop in self._stops if (place := self._text.find(stop, self._skipped)) >= 0]
        self._skipped = max(self._skipped, len(self._text) - overlap(self._text, self._stops))
        if places:
            self.rest = self._text[min(places) :]
            signs.append(Malformed(self._own_text(), self._unknown or why))

    def _own_text(self) -> str:
        return self._text[: len(self._text) - len(self.rest or "")]


def parser(tools: tuple[ToolSpec, ...]) -> ToolParser:
    """Return a parser for one block; it may hold several calls, and its end may be missing."""
    return CallBlock(wrappers={BEGIN: END}, calls={_CALL: lambda: NotedCall(tools, (END, BEGIN))})


FORMAT = ToolFormat(name="gemma4", openers=(BEGIN,), keeps=(END, MARK), parser=parser, grammar=grammar)
