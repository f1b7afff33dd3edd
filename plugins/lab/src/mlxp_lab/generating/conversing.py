"""Templates in which a model thinks of instructions, holds conversations, reasons, calls tools, writes code.

Nothing that it writes is run: there is no sandbox here that could be trusted with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from mlxp_lab.datasets.rows import BadRow, read_row
from mlxp_lab.generating.asking import Ask, Dropped, said, shaped, words
from mlxp_lab.generating.template import Field, Inputs, Row, Task, Template, bad

_SHORT = 200
"""Tokens of what a user says."""

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(?P<code>.*?)```", re.DOTALL)


class Instructions(Struct, frozen=True):
    """What a model could be asked."""

    instructions: list[str]


class Reasoned(Struct, frozen=True):
    """An answer with what leads to it."""

    reasoning: str
    answer: str


def _self_instruct(inputs: Inputs) -> Sequence[Task]:
    count = inputs.number("variants_per_seed")

    def task(seed: str) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            asked = shaped(
                ask, 'You think of tasks. Answer in JSON: {"instructions": ["...", "..."]}.',
                f"Think of {count} instructions in the manner of this one, each about something else:\n{seed}",
                Instructions,
            )  # fmt: skip
            for instruction in asked.instructions[:count]:
                try:
                    answer = ask([said("user", instruction)]).text.strip()
                except Dropped as dropped:
                    yield dropped
                    continue
                yield {"messages": [said("user", instruction), said("assistant", answer)]}

        return make

    return [task(seed) for seed in inputs.lines("seeds")]


def _multi_turn(inputs: Inputs) -> Sequence[Task]:
    """Return conversations that begin with a seed and end with the assistant."""
    exchanges = max(1, inputs.number("turns") // 2)
    persona, user = inputs.text("persona"), inputs.text("user_persona")

    def task(seed: str) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            messages = [said("system", persona), said("user", seed)]
            for exchange in range(exchanges):
                if exchange:
                    messages.append(said("user", _follow_up(ask, user, messages[1:])))
                messages.append(said("assistant", ask(messages).text.strip()))
            yield {"messages": messages}

        return make

    return [task(seed) for seed in inputs.lines("seeds")]


def _follow_up(ask: Ask, persona: str, messages: Sequence[Row]) -> str:
    told = "\n\n".join(f"[{each['role']}]: {each['content']}" for each in messages)
    system = f"You play the user of a conversation: {persona}. Answer with the user's next message alone, a short one."
    return words(ask, system, told, tokens=_SHORT)


def _reasoned(inputs: Inputs) -> Sequence[Task]:
    category = inputs.text("category")

    def task(question: str) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            found = shaped(
                ask, 'You reason step by step, then answer. Answer in JSON: {"reasoning": "...", "answer": "..."}.',
                question, Reasoned,
            )  # fmt: skip
            if not (found.reasoning.strip() and found.answer.strip()):
                raise Dropped("there is no reasoning, or no answer", question)
            answer = {**said("assistant", found.answer.strip()), "reasoning_content": found.reasoning.strip()}
            yield {"messages": [said("user", question), answer], "metadata": {"category": category}}

        return make

    return [task(question) for question in inputs.lines("questions")]


def _tool_use(inputs: Inputs) -> Sequence[Task]:
    tools = _tools(inputs.text("tools_json"))
    scenarios, results = inputs.lines("scenarios"), inputs.lines("mock_results")
    if len(scenarios) != len(results):
        raise bad("mock_results", f"there are {len(results)} for {len(scenarios)} scenarios; each needs one")

    def task(scenario: str, result: str) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            messages: list[Row] = [said("user", scenario)]
            reply = ask(messages, tools=tools)
            if not reply.calls:
                raise Dropped("no tool was called", reply.text)
            calls = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.calls
            ]
            messages.append({"role": "assistant", "content": reply.text or None, "tool_calls": calls})
            messages += [{**said("tool", result), "tool_call_id": call.id} for call in reply.calls]
            final = ask(messages, tools=tools)
            if final.calls:
                raise Dropped("a tool was called once more in place of an answer", final.text)
            yield {"messages": [*messages, said("assistant", final.text.strip())], "tools": tools}

        return make

    return [task(*each) for each in zip(scenarios, results, strict=True)]


def _tools(text: str) -> list[Any]:
    """Return a list of tools, as chat APIs have them."""
    try:
        tools = msgspec.json.decode(text, type=list[Any])
        read_row(msgspec.json.encode({"messages": [said("assistant", ".")], "tools": tools}))
    except (msgspec.MsgspecError, RecursionError, BadRow) as error:
        raise bad("tools_json", f"it must be a JSON list of tools: {error}") from error
    return tools


def _code(inputs: Inputs) -> Sequence[Task]:
    """Return code that was asked for with assertions; it is parsed, and never run."""

    def task(spec: str) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            asked = f"Write a Python function, and three assertions that call it, in one fenced block. Task: {spec}"
            reply = words(ask, "You write short, correct Python.", asked)
            fence = _FENCE.search(reply)
            code = (reply if fence is None else fence["code"]).strip()
            tree = _parsed(code)
            if not any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
                raise Dropped("the code has no assertion", code)
            if not any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree)):
                raise Dropped("the code has no function", code)
            answer = said("assistant", f"```python\n{code}\n```")
            yield {
                "messages": [said("user", spec), answer],
                "metadata": {"language": "python", "verified": None},
            }

        return make

    return [task(spec) for spec in inputs.lines("specs")]


def _parsed(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Dropped("the code is no Python", code) from error


_SEEDS = Field(name="seeds", label="Seeds", type="lines", required=True, hint="one a line")

TEMPLATES = (
    Template(
        name="self_instruct",
        label="More instructions of a kind",
        summary="A model thinks of instructions like yours, and follows them.",
        form="chat",
        needs_model=True,
        fields=(
            _SEEDS,
            Field(
                name="variants_per_seed",
                label="Instructions a seed",
                type="number",
                default=5,
                least=1,
                most=100,
            ),
        ),
        plan=_self_instruct,
    ),
    Template(
        name="multi_turn_chat",
        label="Conversations",
        summary="A model plays assistant and user, from a first message on; the assistant has the last word.",
        form="chat",
        needs_model=True,
        fields=(
            _SEEDS,
            Field(
                name="turns",
                label="Messages",
                type="number",
                default=4,
                least=2,
                most=100,
                hint="an odd number is one less",
            ),
            Field(
                name="persona",
                label="The assistant",
                type="line",
                default="You are a helpful, concise assistant.",
            ),
            Field(
                name="user_persona",
                label="The user",
                type="line",
                default="a curious developer who wants specifics",
            ),
        ),
        plan=_multi_turn,
    ),
    Template(
        name="tool_use_traces",
        label="Calls of tools",
        summary="A model calls your tools, is told what they answered, and concludes.",
        form="chat",
        needs_model=True,
        fields=(
            Field(name="tools_json", label="Tools", required=True, hint="a JSON list, as chat APIs take it"),
            Field(
                name="scenarios", label="Messages of users", type="lines", required=True, hint="one a line"
            ),
            Field(
                name="mock_results",
                label="What tools answer",
                type="lines",
                required=True,
                hint="one for each",
            ),
        ),
        plan=_tool_use,
    ),
    Template(
        name="cot_synthesis",
        label="Reasoning",
        summary="A model reasons about questions and answers them; the reasoning is kept apart.",
        form="chat",
        needs_model=True,
        fields=(
            Field(name="questions", label="Questions", type="lines", required=True, hint="one a line"),
            Field(name="category", label="What they are about", type="line", default="logic"),
        ),
        plan=_reasoned,
    ),
    Template(
        name="code_with_asserts",
        label="Code with assertions",
        summary="A model writes Python functions with assertions. The code is parsed, but nothing of it is run.",
        form="chat",
        needs_model=True,
        fields=(
            Field(
                name="specs",
                label="Functions",
                type="lines",
                required=True,
                hint="what each does, one a line",
            ),
        ),
        plan=_code,
    ),
)
