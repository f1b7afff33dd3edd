"""The official client and a request as Codex sends it, against a real server with a scripted engine."""

import json

import openai
import pytest
from msgspec.structs import replace

from mlxp_core.testing import scripts
from mlxp_core.testing.client import SKETCH, serve
from mlxp_core.types import (
    Call,
    CallDelta,
    CallDone,
    CallStarted,
    Finished,
    Result,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Timing,
    Usage,
)
from mlxp_protocols.openai_responses import plugin

BEGIN = Started("", "")
USAGE = Usage(prompt=11, cached=4, completion=9, thinking=5)
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "Tell the weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": False,
}


class Defaults:
    """Settings that nobody touched, but for those given."""

    def __init__(self, **given):
        self.given = given

    def section(self, kind):
        return kind(**self.given)


def think_and_call(order):
    """Ask for the weather of two cities at once; once the answers are there, tell them."""
    results = [part for message in order.request.prompt for part in message.parts if isinstance(part, Result)]
    if not results:
        return [
            BEGIN,
            ThinkingDelta("Two cities."),
            TextDelta("Asking."),
            *(
                event
                for index, city in enumerate(["Łódź", "Rome"])
                for event in (
                    CallStarted(index, f"call_{index}", "weather"),
                    CallDelta(index, '{"city": '),
                    CallDelta(index, f'"{city}"}}'),
                    CallDone(index),
                )
            ),
            Finished("calls", USAGE, Timing()),
        ]
    told = " ".join(part.text for result in results for part in result.parts)
    return [BEGIN, TextDelta("It is "), TextDelta(f"{told}."), Finished("stop", USAGE, Timing())]


@pytest.fixture
def served():
    with serve(plugin.mlxp_protocols(Defaults()), think_and_call) as running:
        yield running


@pytest.fixture
def client(served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=20) as client:
        yield client


def run_calls(response):
    """Do what an agent does with the calls of a response."""
    calls = [item for item in response.output if item.type == "function_call"]
    weather = {"Łódź": "rain", "Rome": "sun"}
    return [
        {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": weather[json.loads(call.arguments)["city"]],
        }
        for call in calls
    ]


def prompt_of(served, order):
    return served.call(lambda: served.engine.orders[order].request.prompt)


def ask(client, *, stream, **body):
    if not stream:
        return client.responses.create(**body)
    with client.responses.stream(**body) as events:
        for event in events:
            assert event.type != "error"
        return events.get_final_response()


CALLED = (
    Thinking("Two cities."),
    Text("Asking."),
    Call("call_0", "weather", '{"city": "Łódź"}'),
    Call("call_1", "weather", '{"city": "Rome"}'),
)
RESULTS = [Result("call_0", (Text("rain"),)), Result("call_1", (Text("sun"),))]


@pytest.mark.parametrize("stream", [True, False])
def test_a_conversation_with_calls_goes_on_by_previous_response_id(client, served, stream):
    first = ask(client, stream=stream, model="sketch", input="Weather?", tools=[WEATHER])
    second = ask(
        client,
        stream=stream,
        model="sketch",
        input=run_calls(first),
        tools=[WEATHER],
        previous_response_id=first.id,
    )
    assert second.output_text == "It is rain sun."
    asked, called, *results = prompt_of(served, 1)
    assert asked.parts == (Text("Weather?"),)
    assert called.parts == CALLED
    assert [part for message in results for part in message.parts] == RESULTS
    assert (
        second.usage.input_tokens_details.cached_tokens,
        second.usage.output_tokens_details.reasoning_tokens,
    ) == (
        4,
        5,
    )


@pytest.mark.parametrize("stream", [True, False])
def test_a_conversation_with_calls_goes_on_by_its_items(client, served, stream):
    said = [{"role": "user", "content": "Weather?"}]
    first = ask(client, stream=stream, model="sketch", input=said, tools=[WEATHER], store=False)
    said += [item.model_dump(exclude_none=True) for item in first.output]
    second = ask(
        client, stream=stream, model="sketch", input=[*said, *run_calls(first)], tools=[WEATHER], store=False
    )
    assert second.output_text == "It is rain sun."
    assert prompt_of(served, 1)[1].parts == CALLED
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(second.id)


def test_kept_responses_are_retrieved_listed_and_deleted(client):
    first = client.responses.create(input="one", model="sketch", tools=[WEATHER])
    second = client.responses.create(input=run_calls(first), model="sketch", previous_response_id=first.id)
    assert client.responses.retrieve(second.id) == second
    items = list(client.responses.input_items.list(second.id, limit=2, order="asc"))
    assert [item.type for item in items] == [
        "message",
        "reasoning",
        "message",
        *["function_call"] * 2,
        *["function_call_output"] * 2,
    ]
    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(second.id)
    client.responses.delete(second.id)
    for lost in (
        lambda: client.responses.retrieve(second.id),
        lambda: client.responses.delete(second.id),
        lambda: client.responses.cancel(second.id),
        lambda: client.responses.input_items.list(second.id),
        lambda: client.responses.create(input="x", previous_response_id=second.id),
    ):
        with pytest.raises(openai.NotFoundError) as caught:
            lost()
        assert caught.value.body["type"] == "invalid_request_error"


def test_tokens_are_counted_as_a_response_would_read_them(client, served):
    count = client.responses.input_tokens.count
    asked = {"model": "sketch", "input": "Weather?", "instructions": "Be brief.", "tools": [WEATHER]}
    short = count(model="sketch", input="Weather?").input_tokens
    first = client.responses.create(**asked)
    further = {**asked, "input": run_calls(first), "previous_response_id": first.id}
    client.responses.create(**further)
    counted = [count(**body).input_tokens for body in (asked, further)]
    read = served.call(lambda: [len(order.prompt.tokens) for order in served.engine.orders])
    assert counted == read
    assert 0 < short < counted[0] < counted[1]
    with pytest.raises(openai.NotFoundError) as caught:
        count(input="on", previous_response_id="resp_x")
    assert caught.value.code == "previous_response_not_found"


def test_errors_have_the_shape_that_the_client_knows(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(input=[{"role": "robot", "content": "x"}])
    assert caught.value.param == "input[0].role"


# What Codex sends: its own fields, roles and kinds of tools; nothing is kept, all is sent again each turn.
SHELL = {
    "type": "function",
    "name": "shell",
    "description": "Runs a command and returns its output.",
    "strict": False,
    "parameters": {
        "type": "object",
        "properties": {
            "command": {"type": "array", "items": {"type": "string"}},
            "workdir": {"type": "string"},
            "timeout_ms": {"type": "number"},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
}
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edits files. The input is not JSON.",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch" LF'},
}


def codex(*items):
    return {
        "model": "sketch",
        "instructions": "You are a coding agent running in a terminal.",
        "input": [
            {
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": "<permissions>read only</permissions>"}],
            },
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "<environment>zsh</environment>"}],
            },
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
            *items,
        ],
        "tools": [
            SHELL,
            PATCH,
            {"type": "web_search", "external_web_access": False},
            {"type": "local_shell"},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "0199a213-81c0-7800-8aa1-bbab2a035a53",
        "text": {"verbosity": "low"},
        "client_metadata": {"x-codex-installation-id": "1"},
    }


def patch_it(order):
    results = sum(message.role == "tool" for message in order.request.prompt)
    turns = [
        ("shell", '{"command": ["ls"]}'),
        ("apply_patch", '{"input": "*** Begin Patch\\n"}'),
    ]
    if results == len(turns):
        return [BEGIN, TextDelta("Fixed."), Finished("stop", USAGE, Timing())]
    name, arguments = turns[results]
    call = (CallStarted(0, f"call_{results}", name), CallDelta(0, arguments), CallDone(0))
    return [BEGIN, ThinkingDelta("Hm."), *call, Finished("calls", USAGE, Timing())]


def as_codex_reads(client, body):
    """Return the items that were done, and the last event; the rest is for show only."""
    with client.stream("POST", "/v1/responses", json=body) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["x-mlxp-warnings"] == "tools[2] (web_search); tools[3] (local_shell)"
        events = [json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: ")]
    assert events[-1]["type"] == "response.completed"
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return done, events


def test_codex_finishes_its_work():
    roomy = replace(SKETCH, context=4096)
    with serve(plugin.mlxp_protocols(Defaults()), patch_it, models=(roomy,)) as served:
        said = []
        thought, shell = as_codex_reads(served.client, codex(*said))[0]
        assert (shell["type"], shell["name"], shell["arguments"]) == (
            "function_call",
            "shell",
            '{"command": ["ls"]}',
        )
        # Codex sends reasoning back without its id, and takes what it was not given for null.
        said += [{**thought, "encrypted_content": None}, shell]
        output = {"output": "a.py\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}
        said += [{"type": "function_call_output", "call_id": "call_0", "output": json.dumps(output)}]
        thought, patch = as_codex_reads(served.client, codex(*said))[0]
        assert (patch["type"], patch["name"], patch["input"]) == (
            "custom_tool_call",
            "apply_patch",
            "*** Begin Patch\n",
        )
        said += [thought, patch, {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done"}]
        (message,), events = as_codex_reads(served.client, codex(*said))
        assert message["content"][0]["text"] == "Fixed."
        assert [event["delta"] for event in events if event["type"] == "response.output_text.delta"] == [
            "Fixed."
        ]
        system, developer, *turns = prompt_of(served, 2)
        assert (system.role, developer.role) == ("system", "system")
        assert [turn.role for turn in turns] == ["user", "user", *["assistant", "tool"] * 2]
        assert turns[4].parts == (
            Thinking("Hm."),
            Call("call_1", "apply_patch", '{"input":"*** Begin Patch\\n"}'),
        )
        assert served.call(lambda: served.engine.orders[0].request.thinking) is True


def test_the_settings_say_how_much_is_kept():
    (section,) = plugin.mlxp_settings_sections()
    assert (section.name, section.type().keep_s, section.type().keep_bytes) == (
        "openai-responses",
        3600.0,
        33554432,
    )
    for given, kept in (({}, 200), ({"keep_s": 0.0}, 404), ({"keep_bytes": 100}, 404)):
        with serve(plugin.mlxp_protocols(Defaults(**given)), scripts.PLAIN.events) as served:
            said = served.client.post("/v1/responses", json={"input": "hi"}).json()
            assert served.client.get(f"/v1/responses/{said['id']}").status_code == kept


@pytest.mark.parametrize(
    "script",
    [
        scripts.BROKEN_CALL,
        scripts.BROKEN_CALL_BETWEEN_GOOD_ONES,
        scripts.EMPTY_ANSWER,
        scripts.TEXT_AFTER_CALL,
    ],
    ids=lambda script: script.name,
)
def test_the_client_adds_up_a_stream_to_the_whole_response(script):
    with (
        serve(plugin.mlxp_protocols(Defaults()), script.events) as served,
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client,
    ):
        streamed = ask(client, stream=True, model="sketch", input="hi")
        whole = ask(client, stream=False, model="sketch", input="hi")
        assert streamed.output_text == whole.output_text == script.reply().answers[0].text
        calls = [(item.name, item.arguments) for item in streamed.output if item.type == "function_call"]
        assert tuple(calls) == script.reply().answers[0].calls
