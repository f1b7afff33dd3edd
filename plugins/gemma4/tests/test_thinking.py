"""Gemma 4's thinking, against the kit, and what this family alone does."""

import pytest

from mlxp_core.reading import Reader
from mlxp_core.testing.formats import ThinkingFormatSuite
from mlxp_core.testing.reading import TextTokens, read, shown, thought
from mlxp_core.types import GenerateRequest
from mlxp_gemma4 import thinking


class TestThinking(ThinkingFormatSuite):
    @pytest.fixture
    def thinking_format(self):
        return thinking.FORMAT


@pytest.mark.parametrize(
    ("inside", "text", "thoughts", "answer"),
    [
        (False, "<|channel>thought\n<channel|>42", "", "42"),
        (False, "<|channel>thought\nthoughtful<channel|>42", "thoughtful", "42"),
        (False, "<|channel>analysis\nwhy<channel|>42", "analysis\nwhy", "42"),
        (False, "<|channel>\nwhy<channel|>42", "why", "42"),
        (False, "thought\n42", "", "thought\n42"),
        (True, "why\n<channel|>42", "why", "42"),
        (True, "thought\nwhy<channel|>42", "why", "42"),
        (True, "<channel|>42", "", "42"),
    ],
)
def test_the_name_of_the_channel_is_no_thought(inside, text, thoughts, answer):
    table = TextTokens((thinking.FORMAT.open, thinking.FORMAT.close))
    request = GenerateRequest(id="r", model="m", prompt="")
    for cuts in ((), range(len(text))):
        reader = Reader(
            request, table=table, end_tokens=frozenset(), thinking=thinking.FORMAT, inside_thinking=inside
        )
        events, _ = read(reader, table.tokens(text, cuts))
        assert (thought(events), shown(events)) == (thoughts, answer)
