"""The laws of history: what a model wrote, read and sent back by the client, is told to it as its template would.

Subclass ``RoundTripSuite`` with ``tool_format``, ``thinking_format``, ``renders`` and ``write``.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from msgspec import Struct

from mlxp_core.contracts import ThinkingFormat, ToolFormat
from mlxp_core.prompting import ChatTemplate
from mlxp_core.prompting.render import render
from mlxp_core.reading import Reader
from mlxp_core.testing.reading import TextTokens, check_answer, random_cuts, read, whole
from mlxp_core.types import (
    Call,
    CallDelta,
    CallStarted,
    Event,
    GenerateRequest,
    Message,
    Part,
    Result,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolSpec,
)


class Render(Struct, frozen=True, kw_only=True):
    """A conversation, and how a template tells it.

    Attributes:
        name: shows when a law fails.
        template: its source.
        tokens: what else the template knows, such as ``bos_token``.
        messages: as templates read them, calls and thoughts included.
        tools: likewise.
        text: the prompt.
    """

    name: str
    template: str
    tokens: Mapping[str, str]
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    text: str


def answer_message(events: Iterable[Event]) -> Message:
    """Return an answer as the message that a client sends back; its calls are complete."""
    parts: list[Part] = []
    for event in whole(events):
        match event:
            case ThinkingDelta(text=text):
                parts.append(Thinking(text))
            case TextDelta(text=text):
                parts.append(Text(text))
            case CallStarted(id=ident, name=name):
                parts.append(Call(ident, name, "{}"))
            case CallDelta(arguments=arguments):
                last = parts.pop()
                assert isinstance(last, Call), "arguments follow the start of their call"
                parts.append(Call(last.id, last.name, arguments))
            case _:
                pass
    return Message("assistant", tuple(parts))


class RoundTripSuite:
    """The laws of one family's way of writing, with its own templates."""

    @pytest.fixture
    def tool_format(self) -> ToolFormat:
        """Return how the family writes calls."""
        raise NotImplementedError("a RoundTripSuite needs a fixture `tool_format`")

    @pytest.fixture
    def thinking_format(self) -> ThinkingFormat:
        """Return how the family writes thinking."""
        raise NotImplementedError("a RoundTripSuite needs a fixture `thinking_format`")

    @pytest.fixture
    def renders(self) -> Sequence[Render]:
        """Return conversations with answers of the model in them."""
        raise NotImplementedError("a RoundTripSuite needs a fixture `renders`")

    def write(self, message: Mapping[str, Any]) -> str:
        """Return what the model wrote when this message of a conversation was its answer."""
        raise NotImplementedError("a RoundTripSuite needs a method `write`")

    def test_what_was_written_is_told_again_as_it_was(
        self, tool_format: ToolFormat, thinking_format: ThinkingFormat, renders: Sequence[Render]
    ) -> None:
        """However the answers were cut into tokens."""
        assert any(message.get("tool_calls") for each in renders for message in each.messages)
        for seed, expected in enumerate(renders):
            tools = tuple(_tool(tool["function"]) for tool in expected.tools)
            messages = tuple(self._history(expected.messages, tools, tool_format, thinking_format, seed))
            request = GenerateRequest(id="r", model="m", prompt=messages, tools=tools)
            template = ChatTemplate(expected.template, tokens=expected.tokens)
            assert render(request, messages, template, thinking_format).text == expected.text, expected.name

    def _history(
        self,
        messages: Iterable[Mapping[str, Any]],
        tools: tuple[ToolSpec, ...],
        tool_format: ToolFormat,
        thinking_format: ThinkingFormat,
        seed: int,
    ) -> Iterator[Message]:
        """Yield a conversation as a client has it that got its answers from us."""
        markers = (thinking_format.open, thinking_format.close, *tool_format.openers, *tool_format.keeps)
        count = itertools.count(1)
        for message in messages:
            match message:
                case {"role": "assistant"}:
                    table, text = TextTokens(markers), self.write(message)
                    reader = Reader(
                        GenerateRequest(id="r", model="m", prompt="", tools=tools),
                        table=table,
                        end_tokens=frozenset(),
                        thinking=thinking_format,
                        tools=tool_format,
                        new_id=lambda: f"c{next(count)}",
                    )
                    events, _ = read(reader, table.tokens(text, random_cuts(len(text), seed)))
                    check_answer(events)
                    yield answer_message(events)
                case {"role": "tool", "tool_call_id": str(ident), "content": str(content)}:
                    yield Message("tool", (Result(ident, (Text(content),)),))
                case {"role": "system" | "user" as role, "content": str(content)}:
                    yield Message(role, (Text(content),))
                case _:
                    raise AssertionError(f"this message cannot be sent by a client: {message}")


def _tool(function: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(function["name"], function.get("description", ""), function.get("parameters", {}))
