"""A real server with every surface, whose engine wants one command run and is content when it hears what came of it."""

import json
from importlib.metadata import entry_points

import pytest
from msgspec.structs import replace

from mlxp_core.testing.client import SKETCH, serve
from mlxp_core.types import (
    CallDelta,
    CallDone,
    CallStarted,
    Finished,
    Message,
    Prefilled,
    Result,
    Started,
    Text,
    TextDelta,
    Timing,
    Usage,
)

COMMAND = r"printf '\150eard'"
HEARD = "heard"
"""What the command prints; the command itself does not hold the word."""

SAID = "The tool was run, and all is done."

SHELLS = {
    "Bash": {"command": COMMAND},
    "bash": {"command": COMMAND, "description": "Print a word"},
    "exec_command": {"cmd": COMMAND},
    "shell_command": {"command": COMMAND},
    "run_shell_command": {"command": COMMAND, "is_background": False},
}
"""The tools that run a command, as agents call them, with arguments that have one printed."""

ABLE = replace(SKETCH, context=262_144)


class Model:
    """Says what a model would that wants a command run.

    Attributes:
        calls: names of the tools that it called.
        results: texts of what tools gave, as they came back.
        remark: what it says where it has no tool to run commands.
    """

    def __init__(self):
        self.calls = []
        self.results = []
        self.remark = "A title"

    def script(self, order):
        request = order.request
        given = list(results_of(request.prompt))
        self.results += given
        if any(HEARD in text for text in given):
            return self.say(SAID)
        shell = next((tool.name for tool in request.tools if tool.name in SHELLS), None)
        return self.say(self.remark) if shell is None else self.call(shell)

    def say(self, text):
        return [*BEGIN, TextDelta(text), Finished("stop", Usage(prompt=9, completion=3), Timing())]

    def call(self, name):
        self.calls.append(name)
        return [
            *BEGIN,
            TextDelta("I will look."),
            CallStarted(0, f"call_{len(self.calls)}", name),
            CallDelta(0, json.dumps(SHELLS[name])),
            CallDone(0),
            Finished("calls", Usage(prompt=9, completion=3), Timing()),
        ]


BEGIN = (Started("", ""), Prefilled(9, 9))


def results_of(prompt):
    """Yield the text of every tool result in a conversation."""
    for message in prompt:
        if isinstance(message, Message):
            for part in message.parts:
                if isinstance(part, Result):
                    yield "".join(inner.text for inner in part.parts if isinstance(inner, Text))


@pytest.fixture
def model():
    """What answers."""
    return Model()


@pytest.fixture
def server(model):
    """A server with every surface that is installed, which takes a key."""
    points = [point for point in entry_points(group="mlxp") if point.value.startswith("mlxp_protocols.")]
    plugins = [(point.name, point.load()) for point in points]
    flags = {"server": {"port": 0, "api_keys": ["the-key"]}}
    with serve([], model.script, plugins=plugins, models=[ABLE], flags=flags) as served:
        yield served
