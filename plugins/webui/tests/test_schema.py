"""Answers held to a schema that is pasted in."""

import json

import pytest

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def babbling(live_pages, tiny_checkpoints):
    """A server of a random model, which says nothing of the kind by itself."""
    pytest.importorskip("mlxp_structured")
    with live_pages(tiny_checkpoints / "minicpm5") as served:
        yield served


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])
def test_the_answer_is_json_of_the_schema(chat, babbling, protocol):
    page = chat(babbling.url)
    page.page.get_by_label("Protocol").select_option(protocol)
    options = page.open("Options")
    options.get_by_label("Thinking").select_option("off")
    options.get_by_label("Answer as JSON of this schema").fill(json.dumps(SCHEMA))
    text = page.ask("Yes or no?").locator(".markdown").inner_text()
    assert json.loads(text)["answer"] in {"yes", "no"}
