"""Answers that have a shape, from real servers of random models, asked by official clients."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path

import openai
import pytest

from mlxp_core.loading.sketch import write_sketch
from mlxp_core.testing.live import serve_folders

SCHEMAS = json.loads((Path(__file__).parent / "schemas.json").read_text("utf-8"))
ROUNDS = int(os.environ.get("STRUCTURED_ROUNDS", "1"))
PLACES = 16
BARE = {"openai-chat", "minicpm5"}
HOT = 1.5
HI = [{"role": "user", "content": "hi"}]
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 99}, "label": {"enum": ["a", "b c"]}},
    "required": ["x", "label"],
    "additionalProperties": False,
}
CALLABLE = ["person", "weather", "references", "edits", "nested", "recursive"]
TOOLS = {"point": POINT, **{name: SCHEMAS[name] for name in CALLABLE}}


def formatted(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def functions(*names, **more):
    return [{"type": "function", "function": {"name": n, "parameters": TOOLS[n], **more}} for n in names]


@pytest.fixture
def ask(openai_client):
    """Ask for one answer; return why it ended, its text, its calls and its reasoning."""
    (model,) = [card.id for card in openai_client.models.list()]

    def run(*, stream=False, seed=1, **fields):
        known = {"temperature": HOT, "max_tokens": 250, "messages": HI, "model": model, "seed": seed}
        if not stream:
            (choice,) = openai_client.chat.completions.create(**{**known, **fields}).choices
            said = choice.message
            calls = [(call.function.name, call.function.arguments) for call in said.tool_calls or ()]
            return choice.finish_reason, said.content or "", calls, getattr(said, "reasoning", None) or ""
        return joined(openai_client.chat.completions.create(**{**known, **fields}, stream=True))

    return run


def joined(chunks):
    """Return what a stream says, as if it had come at once."""
    reason, text, calls, reasoning = None, "", {}, ""
    for chunk in chunks:
        (choice,) = chunk.choices
        reason = choice.finish_reason or reason
        text += choice.delta.content or ""
        reasoning += getattr(choice.delta, "reasoning", None) or ""
        for call in choice.delta.tool_calls or ():
            name, told = calls.get(call.index, ("", ""))
            calls[call.index] = (name + (call.function.name or ""), told + (call.function.arguments or ""))
    return reason, text, [calls[index] for index in sorted(calls)], reasoning


@pytest.mark.parametrize("number", range(ROUNDS))
def test_sixteen_schemas_at_once_are_kept_streamed_or_not(ask, judge, number):
    names = sorted(SCHEMAS)
    asked = [names[(PLACES * number + place) * 5 % len(names)] for place in range(PLACES)]

    def one(place):
        name = asked[place]
        return ask(response_format=formatted(SCHEMAS[name]), seed=number * 100 + place, stream=place % 2 == 1)

    with ThreadPoolExecutor(PLACES) as threads:
        told = [*threads.map(one, range(PLACES))]
    finished = [
        (name, text) for name, (reason, text, _, _) in zip(asked, told, strict=True) if reason == "stop"
    ]
    assert len(finished) >= PLACES / 2
    for name, text in finished:
        judge(text, SCHEMAS[name])


def test_a_row_with_a_shape_says_what_it_says_alone_and_its_neighbours_too(ask):
    bodies = [
        *({"response_format": formatted(SCHEMAS[name])} for name in ("person", "weather", "uuid")),
        {"extra_body": {"guided_regex": "[a-z]{3,9}!"}},
        *({"max_tokens": 60} for _ in range(4)),
    ]
    alone = [ask(seed=place, **body) for place, body in enumerate(bodies)]
    with ThreadPoolExecutor(len(bodies)) as threads:
        together = [*threads.map(lambda place: ask(seed=place, **bodies[place]), range(len(bodies)))]
    assert together == alone


def test_forced_and_named_calls_in_chat(ask, judge):
    def one(seed):
        name = CALLABLE[seed % len(CALLABLE)]
        named = {"type": "function", "function": {"name": name}}
        choice = "required" if seed == 0 else named
        tools, stream = functions(*CALLABLE), seed % 2 == 1
        alone = {"parallel_tool_calls": seed % 3 == 0}
        return name, choice, ask(tools=tools, tool_choice=choice, seed=seed, stream=stream, **alone)

    with ThreadPoolExecutor(PLACES) as threads:
        answers = [*threads.map(one, range(len(CALLABLE) * ROUNDS))]
    ended = 0
    for name, choice, (reason, text, calls, _) in answers:
        if reason == "length":
            continue
        ended += 1
        assert (reason, text) == ("tool_calls", "")
        for called, arguments in calls:
            assert called == name or choice == "required"
            judge(arguments, TOOLS[called])
    assert ended >= len(CALLABLE) / 2


def test_forced_and_named_calls_and_formats_in_responses(openai_client, judge):
    (model,) = [card.id for card in openai_client.models.list()]
    tools = [{"type": "function", "name": n, "parameters": TOOLS[n], "strict": True} for n in CALLABLE]
    text = {"format": {"type": "json_schema", "name": "point", "schema": POINT}}

    def one(seed):
        choice = {"type": "function", "name": CALLABLE[seed % 3]} if seed else "required"
        body = {"text": text} if seed % 4 == 3 else {"tools": tools, "tool_choice": choice}
        known = {"model": model, "input": "hi", "temperature": HOT, "max_output_tokens": 250}
        known |= {"extra_body": {"seed": seed}, "parallel_tool_calls": False}
        if seed % 2:
            return openai_client.responses.create(**known, **body)
        with openai_client.responses.stream(**known, **body) as events:
            return events.get_final_response()

    with ThreadPoolExecutor(PLACES) as threads:
        responses = [*threads.map(one, range(4 * ROUNDS))]
    ended = [response for response in responses if response.status == "completed"]
    assert len(ended) >= len(responses) / 2
    for response in ended:
        for item in response.output:
            if item.type == "function_call":
                judge(item.arguments, TOOLS[item.name])
            else:
                judge(item.content[0].text, POINT)


def test_forced_and_named_calls_and_formats_in_messages(anthropic_client, judge):
    tools = [{"name": name, "input_schema": TOOLS[name]} for name in CALLABLE]
    shape = {"output_config": {"format": {"type": "json_schema", "schema": POINT}}}

    def one(seed):
        more = {"seed": seed, "temperature": 1.0}
        choice = {"type": "tool", "name": CALLABLE[seed % 3]} if seed else {"type": "any"}
        choice["disable_parallel_tool_use"] = True
        body = {"tools": tools, "tool_choice": choice}
        if seed % 4 == 3:
            more, body = {**more, **shape}, {}
        return told(
            anthropic_client,
            seed % 2 == 1,
            {"model": "", "max_tokens": 250, "messages": HI, "extra_body": more, **body},
        )

    with ThreadPoolExecutor(PLACES) as threads:
        messages = [*threads.map(one, range(4 * ROUNDS))]
    ended = [message for message in messages if message.stop_reason != "max_tokens"]
    assert len(ended) >= len(messages) / 2
    for message in ended:
        for block in message.content:
            if block.type == "tool_use":
                judge(json.dumps(block.input), TOOLS[block.name])
            else:
                judge(block.text, POINT)


def told(client, stream, body):
    if not stream:
        return client.messages.create(**body)
    with client.messages.stream(**body) as events:
        return events.get_final_message()


def test_calls_may_stand_in_place_of_a_shape_and_strict_ones_behind_text(ask, judge):
    def one(seed):
        beside = ask(
            tools=functions("point"),
            response_format=formatted(POINT),
            seed=seed,
            max_tokens=120,
            parallel_tool_calls=False,
        )
        return beside, ask(tools=functions("point", strict=True), seed=seed, max_tokens=60)

    with ThreadPoolExecutor(PLACES) as threads:
        answers = [*threads.map(one, range(6 * ROUNDS))]
    assert any(beside[0] != "length" for beside, _ in answers)
    for (reason, text, calls, _), _ in answers:
        if reason == "stop":
            assert not calls
            judge(text, POINT)
        elif reason == "tool_calls":
            assert not text
    for reason, _, calls, _ in (answer for pair in answers for answer in pair):
        for _, arguments in calls if reason == "tool_calls" else ():
            judge(arguments, POINT)


@pytest.mark.parametrize("budget", [0, 7])
def test_a_budget_ends_thinking_and_then_the_shape_holds(ask, judge, budget):
    thinking = {"chat_template_kwargs": {"enable_thinking": True}, "thinking_budget": budget}
    for seed in range(2):
        reason, text, _, reasoning = ask(
            response_format=formatted(POINT), seed=seed, extra_body=thinking, stream=seed % 2 == 1
        )
        assert reason == "stop"
        judge(text, POINT)
        assert len(reasoning.encode()) <= budget * 40
    free = ask(extra_body=thinking, max_tokens=40)
    assert free == ask(extra_body=thinking, max_tokens=40)


def test_limits_and_stop_strings_end_as_they_do_elsewhere(ask):
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 50}}, "required": ["a"]}
    assert ask(response_format=formatted(schema), max_tokens=10)[0] == "length"
    reason, text, _, _ = ask(response_format=formatted(POINT), stop='"label"')
    assert reason == "stop"
    assert '"x"' in text
    assert '"label"' not in text


def test_every_choice_has_the_shape(openai_client, judge):
    (model,) = [card.id for card in openai_client.models.list()]
    answer = openai_client.chat.completions.create(
        model=model, messages=HI, n=4, temperature=HOT, response_format=formatted(POINT), max_tokens=300
    )
    texts = [choice.message.content for choice in answer.choices if choice.finish_reason == "stop"]
    assert texts
    for text in texts:
        judge(text, POINT)


def test_plain_text_goes_on_in_a_shape(openai_client):
    (model,) = [card.id for card in openai_client.models.list()]
    answer = openai_client.completions.create(
        model=model, prompt=["one", "two"], temperature=HOT, extra_body={"guided_choice": ["yes", "no"]}
    )
    assert {choice.text for choice in answer.choices} <= {"yes", "no"}


@pytest.mark.parametrize(
    ("fields", "param", "named"),
    [
        ({"response_format": formatted({"not": {}})}, "response_format", "not"),
        ({"extra_body": {"guided_regex": "(a"}}, "guided_regex", "unclosed"),
        ({"extra_body": {"guided_choice": []}}, "guided_choice", "at least one"),
        ({"extra_body": {"response_format": {"type": "haiku"}}}, "response_format", "haiku"),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f", "parameters": {"not": {}}}}],
                "tool_choice": "required",
            },
            "tools",
            "not",
        ),
    ],
)
def test_what_cannot_be_held_is_refused_before_anything_is_done(ask, fields, param, named):
    with pytest.raises(openai.BadRequestError, match=named) as caught:
        ask(**fields)
    assert caught.value.param == param


def test_what_can_never_be_met_fails_and_does_not_hang(ask):
    schema = {"allOf": [{"type": "string", "pattern": "^a+$"}, {"pattern": "^b+$"}]}
    with pytest.raises(openai.APIStatusError):
        ask(response_format=formatted(schema))


def test_without_the_plugin_its_fields_are_refused_by_name(tmp_path):
    points = {point.name: point.load() for point in entry_points(group="mlxp") if point.name in BARE}
    folder = write_sketch(tmp_path / "sketch")
    with (
        serve_folders(folder, plugins=[*points.items()], path=()) as served,
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client,
    ):
        for param, fields in {
            "response_format": {"response_format": formatted(POINT)},
            "guided_regex": {"extra_body": {"guided_regex": "a"}},
            "tool_choice": {"tools": functions("point"), "tool_choice": "required"},
            "tools": {"tools": functions("point", strict=True)},
        }.items():
            with pytest.raises(openai.BadRequestError, match="enable one that does") as caught:
                client.chat.completions.create(model="", messages=HI, **fields)
            assert caught.value.param == param
        budget = {"thinking_budget": 2, "chat_template_kwargs": {"enable_thinking": True}}
        answer = client.chat.completions.create(model="", messages=HI, max_tokens=12, extra_body=budget)
        assert answer.usage.completion_tokens_details.reasoning_tokens <= 4
