"""Long conversations read each message once, whatever the model can go back to."""

import json
import random
import signal

import pytest

FAMILIES = ("minicpm5", "gemma4-e2b-text", "qwen35-text")
WORDS = "the weather in town was cold and grey so we went home to read a book".split()  # noqa: SIM905  # one line
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
}
TURNS, BRANCH = 20, 5
LEAD_IN = 40
"""Tokens, more than any template writes around a message."""


def words(dice, count):
    return " ".join(dice.choices(WORDS, k=count))


def agent_turns(dice, size):
    """Yield what a client adds turn by turn: a question, then calls with what the tool answered."""
    yield [{"role": "system", "content": words(dice, size)}, {"role": "user", "content": words(dice, size)}]
    for number in range(1, TURNS):
        call = {"id": f"call{number}", "type": "function"}
        call["function"] = {"name": "look", "arguments": f'{{"at": "{words(dice, 3)}"}}'}
        if number % 4 == 0:
            yield [
                {"role": "assistant", "content": words(dice, 9)},
                {"role": "user", "content": words(dice, size)},
            ]
        else:
            yield [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": words(dice, size)},
            ]


@pytest.fixture
def folder(request):
    """The model that is always there, or one of each family."""
    if request.param == "sketch":
        return request.getfixturevalue("sketch")
    return request.getfixturevalue("tiny_checkpoints") / request.param


class Agent:
    """A client of one server, who wants to know what the prompt cache did."""

    def __init__(self, client):
        self.client = client

    def ask(self, messages, **more):
        """Return the answer, and what it says of the cache."""
        asked = {"max_tokens": 6, "temperature": 0, "tools": [TOOL], **more}
        answer = self.client.chat.completions.create(
            model="", messages=messages, extra_body={"explain_cache": True}, **asked
        )
        told = answer.choices[0].model_extra["mlxp"]["cache"]
        assert told["cached"] == answer.usage.prompt_tokens_details.cached_tokens
        assert told["prompt"] == answer.usage.prompt_tokens
        return answer, told


@pytest.fixture
def agent(live, official, folder):
    with live(folder) as served:
        made = Agent(official(served.url))
        made.stats = lambda: served.engine.stats().prompt_cache
        yield made


TALK = {
    "messages": [{"role": "user", "content": "Tell me of the sea, and of whoever crosses it."}],
    "max_tokens": 2,
}
SURFACES = {
    "/v1/chat/completions": TALK,
    "/v1/messages": TALK,
    "/v1/completions": {"prompt": "The sea, and whoever crosses it,", "max_tokens": 2},
    "/v1/responses": {"input": "Tell me of the sea, and of whoever crosses it.", "max_output_tokens": 2},
}


def extensions_in(said):
    """Yield whatever stands under ``mlxp``, at any depth."""
    if isinstance(said, dict):
        yield from ([said["mlxp"]] if "mlxp" in said else [])
        said = list(said.values())
    for inner in said if isinstance(said, list) else []:
        yield from extensions_in(inner)


@pytest.mark.parametrize("path", SURFACES)
def test_every_surface_tells_what_the_cache_did(live, sketch, path):
    def ask(**fields):
        text = served.client.post(path, json={**SURFACES[path], "temperature": 0, **fields}).text
        lines = text.splitlines() if fields.get("stream") else [f"data:{text}"]
        said = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
        found = [one for part in said if part != "[DONE]" for one in extensions_in(json.loads(part))]
        return [one["cache"] for one in found if "cache" in one]

    with live(sketch) as served:
        [first] = ask(explain_cache=True)
        [whole] = ask(explain_cache=True)
        [streamed] = ask(explain_cache=True, stream=True)
        assert ask() == ask(stream=True) == []
    assert (first["cached"], first["cause"]) == (0, "empty")
    assert {**whole, "request_id": ""} == {**streamed, "request_id": ""}
    assert whole["cached"] > 0.5 * whole["prompt"]


LONG = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("folder", "size"),
    [
        *((folder, 24) for folder in ("sketch", *FAMILIES)),
        *(pytest.param(folder, 160, marks=LONG, id=f"{folder}-16k tokens") for folder in FAMILIES),
    ],
    indirect=["folder"],
)
def test_an_agent_pays_for_what_is_new(agent, size):
    """What is new is what no earlier prompt began with: some templates tell old turns anew."""
    messages, prompts = [], []
    for turn, added in enumerate(agent_turns(random.Random(3), size)):
        messages += added
        prompts.append(list(messages))
        _, told = agent.ask(messages)
        assert told["cached"] >= told["shared"] - (LEAD_IN if turn else 0)
        assert turn == 0 or told["shared"] > 0
    assert told["cached"] > 0.5 * told["prompt"]
    _, branch = agent.ask([*prompts[BRANCH], {"role": "assistant", "content": "No."}, *prompts[0][1:]])
    assert branch["cached"] >= branch["shared"] - LEAD_IN
    _, again = agent.ask(prompts[-1])
    assert again["cached"] >= again["prompt"] - LEAD_IN
    stats = agent.stats()
    assert (stats.misses, stats.hits) == (1, TURNS + 1)
    assert stats.bytes <= stats.limit_bytes


@pytest.mark.parametrize("folder", ["qwen35-text"], indirect=True)
def test_thinking_that_the_template_drops_costs_only_itself(agent):
    messages = [{"role": "user", "content": words(random.Random(1), 60)}]
    for _ in range(3):
        answer, _ = agent.ask(messages, max_tokens=12)
        thought = answer.choices[0].message.reasoning_content
        assert thought
        messages += [
            {"role": "assistant", "content": "Yes.", "reasoning_content": thought},
            {"role": "user", "content": "Go on."},
        ]
    _, told = agent.ask(messages)
    assert told["prompt"] - told["cached"] < 60
    assert told["parting"]["known_text"] == "<think>"


@pytest.mark.parametrize("folder", ["sketch"], indirect=True)
def test_a_changed_instruction_is_named(agent):
    messages = [{"role": "system", "content": "It is 12:01."}, {"role": "user", "content": "Hello"}]
    agent.ask(messages)
    messages[0]["content"] = "It is 12:02."
    _, told = agent.ask(messages)
    assert told["cause"] == "different"
    assert (told["parting"]["text"], told["parting"]["known_text"]) == ("2", "1")
    assert told["parting"]["message"] == 0


@pytest.mark.parametrize("folder", ["sketch", *FAMILIES], indirect=True)
def test_a_server_that_is_started_again_remembers(process, official, folder, tmp_path):
    messages = [{"role": "user", "content": words(random.Random(5), 60)}]
    answers = []
    for _ in range(2):
        running = process(folder, "--prompt-cache-dir", str(tmp_path / "kept"))
        answers.append(Agent(official(running.url)).ask(messages))
        running.process.signal(signal.SIGTERM)
        assert running.process.wait() == 0
    (first, cold), (again, warm) = answers
    assert first.choices[0].message.content == again.choices[0].message.content
    assert cold["cached"] == 0
    assert warm["cached"] >= warm["prompt"] - LEAD_IN
