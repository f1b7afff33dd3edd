"""What Gemma 4 wrote, read and sent back, is told again as the official templates would."""

import json

import pytest

from mlxp_core.testing.round_trip import Render, RoundTripSuite
from mlxp_gemma4 import thinking, tools


@pytest.fixture(scope="module")
def golden(shared):
    """Conversations with calls in them, told by each of the official templates."""
    folder = shared / "assets" / "gemma4"
    recorded = json.loads((folder / "template_renders.json").read_text())
    return [
        Render(
            name=f"{name}, case {case}",
            template=(folder / name).read_text(),
            tokens={"bos_token": "<bos>"},
            messages=asked["messages"],
            tools=asked["tools"],
            text=renders[case]["text"],
        )
        for name, renders in recorded["renders"].items()
        for case, asked in recorded["cases"].items()
        if any("tool_calls" in message for message in asked["messages"])
    ]


class TestHistory(RoundTripSuite):
    @pytest.fixture
    def tool_format(self):
        return tools.FORMAT

    @pytest.fixture
    def thinking_format(self):
        return thinking.FORMAT

    @pytest.fixture
    def renders(self, golden):
        return golden

    def write(self, message):
        thought = message.get("reasoning_content")
        calls = [call["function"] for call in message.get("tool_calls", [])]
        parts = [f"<|channel>thought\n{thought}\n<channel|>"] if thought else []
        parts.append(message["content"])
        parts += [f"<|tool_call>call:{call['name']}{noted(call['arguments'])}<tool_call|>" for call in calls]
        return "".join(parts)


def noted(value):
    """Write a value as the template does."""
    match value:
        case str():
            return f'<|"|>{value}<|"|>'
        case dict():
            return "{" + ",".join(f"{key}:{noted(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ",".join(map(noted, value)) + "]"
        case _:
            return json.dumps(value)
