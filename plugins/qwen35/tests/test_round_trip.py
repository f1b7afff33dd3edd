"""What Qwen 3.5 wrote, read and sent back, is told again as the official templates would."""

import json

import pytest

from mlxp_core.testing.round_trip import Render, RoundTripSuite
from mlxp_qwen35 import thinking, tools


@pytest.fixture(scope="module")
def golden(shared):
    """Conversations with calls in them, told by each of the official templates."""
    folder = shared / "assets" / "qwen35"
    recorded = json.loads((folder / "template_renders.json").read_text())
    return [
        Render(
            name=f"{name}, case {case}",
            template=(folder / name).read_text(),
            tokens={},
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
        calls = [element(**call["function"]) for call in message.get("tool_calls", [])]
        return "\n\n".join(
            [
                f"<think>\n{message.get('reasoning_content', '')}\n</think>",
                *([message["content"]] if message["content"] else []),
                *(["\n".join(calls)] if calls else []),
            ]
        )


def element(name, arguments):
    """Write a call as the template does."""
    parts = [f"<tool_call>\n<function={name}>\n"]
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value)
        parts.append(f"<parameter={key}>\n{text}\n</parameter>\n")
    return "".join([*parts, "</function>\n</tool_call>"])
