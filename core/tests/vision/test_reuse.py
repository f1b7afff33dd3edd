"""Images that were shown before are not looked at again, and no image is taken for another."""

import base64

import pytest

from mlxp_core.testing.live import serve_folders
from mlxp_core.testing.pictures import picture

protocols = pytest.importorskip("mlxp_protocols.openai_chat.plugin", reason="somebody must answer")
RED, BLUE = (200, 10, 10), (10, 10, 200)


class Talk:
    """One conversation after the other with one server."""

    def __init__(self, client):
        self.client = client

    def ask(self, *parts, role="user", before=()):
        content = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {
                "type": "image_url",
                "image_url": {"url": "data:image/png;base64," + base64.b64encode(part.data).decode()},
            }
            for part in parts
        ]
        messages = [*before, {"role": role, "content": content}]
        asked = {"messages": messages, "temperature": 0, "max_tokens": 12, "explain_cache": True}
        answer = self.client.post("/v1/chat/completions", json=asked)
        assert answer.status_code == 200, answer.text
        (choice,) = answer.json()["choices"]
        return choice["message"]["content"], choice["mlxp"].get("cache"), messages


@pytest.fixture
def talk(seer, write):
    """Begin to talk to a server; without a cache, each answer is what it is alone."""

    def talk(*, cache=2**24, looks_ahead=True, **engine):
        flags = {"engine": {"dtype": "float32", "prompt_cache_bytes": cache, **engine}}
        plugins = [("seer", seer), ("openai_chat", protocols)]
        return serve_folders(write(looks_ahead=looks_ahead), plugins=plugins, flags=flags, path=())

    return talk


@pytest.mark.parametrize("looks_ahead", [True, False])
@pytest.mark.parametrize("chunk", [3, 512])
def test_an_image_is_known_by_what_it_shows_not_by_its_size(talk, looks_ahead, chunk):
    questions = [(picture(4, 4, colour), ending) for ending in ("what", "where") for colour in (RED, BLUE)]
    with talk(looks_ahead=looks_ahead, prefill_chunk=chunk) as served:
        warm = [Talk(served.client).ask(*question) for question in questions]
    cold = []
    for question in questions:
        with talk(cache=0, looks_ahead=looks_ahead) as served:
            text, told, _ = Talk(served.client).ask(*question)
            assert told is None
            cold.append(text)
    assert [text for text, _, _ in warm] == cold
    first_red, first_blue, second_red, second_blue = (told for _, told, _ in warm)
    assert first_blue["shared"] < 16
    assert first_blue["parting"]["text"] == first_blue["parting"]["known_text"] == "<image>"
    for told in (second_red, second_blue):
        assert told["cached"] > 16
        assert told["cached"] == told["shared"]
    assert first_red["cached"] == 0


def test_the_next_turn_goes_on_behind_the_image(talk):
    with talk() as served:
        client = Talk(served.client)
        said, _, messages = client.ask("look", picture(4, 4), "and say")
        before = [*messages, {"role": "assistant", "content": said or "yes"}]
        _, told, _ = client.ask("more", before=before)
    assert told["cached"] > 16
    assert told["prompt"] - told["cached"] < 40
