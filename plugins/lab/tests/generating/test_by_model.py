"""Templates that ask a served model, over its chat API."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import Busy
from mlxp_core.types import Finished, ServerSettings, Started, TextDelta, Timing, Usage
from mlxp_lab.datasets.inspect import inspect
from mlxp_lab.generating.chatting import address_of
from mlxp_lab.generating.parameters import GenerateParameters, key_for, prepare, usual_server
from mlxp_lab.generating.rewriting import NOT_SAID
from mlxp_lab.generating.templates import OWN
from mlxp_lab.generating.work import Work
from mlxp_lab.jobs import JobFailed
from mlxp_structured import plugin as structured

TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}
FRAGMENT = "```python\ndef add(a, b):\n    return a + b\n\nassert add(1, 2) == 3\n```"


def rows_of(done):
    return [json.loads(line) for line in (done.output / "train.jsonl").read_text().splitlines()]


def said(row):
    return [(turn["role"], turn.get("content")) for turn in row["messages"]]


def test_a_style_is_transferred_paragraph_by_paragraph(writer, generate):
    with writer(lambda text, system: f"{text}, as {system.split()[-1]}") as served:
        inputs = {"reference_samples": "pirates", "raw_text": "one thing\n\nanother\nmatter"}
        done = generate("style_transfer", inputs, server=served.url, valid=0)
    assert rows_of(done) == [
        {"prompt": "one thing", "completion": "one thing, as pirates"},
        {"prompt": "another\nmatter", "completion": "another\nmatter, as pirates"},
    ]
    assert done.summary["model"] == "sketch"


def test_a_model_thinks_of_instructions_and_follows_each(writer, generate):
    def reply(text, system):
        if "Think of" in text:
            return 'Sure: {"instructions": ["Sing.", "Dance.", "Too many."]}'
        return f"{text} It is done."

    with writer(reply) as served:
        done = generate(
            "self_instruct", {"seeds": "Jump.\n", "variants_per_seed": 2}, server=served.url, valid=0
        )
    assert [said(row) for row in rows_of(done)] == [
        [("user", "Sing."), ("assistant", "Sing. It is done.")],
        [("user", "Dance."), ("assistant", "Dance. It is done.")],
    ]


@pytest.mark.parametrize(("turns", "exchanges"), [(2, 1), (4, 2), (5, 2)])
def test_conversations_end_with_the_assistant(writer, generate, turns, exchanges):
    def reply(text, system):
        return "And then?" if system.startswith("You play the user") else f"Well, {len(text)}."

    with writer(reply) as served:
        done = generate("multi_turn_chat", {"seeds": "Hello", "turns": turns}, server=served.url, valid=0)
    (row,) = rows_of(done)
    assert [turn["role"] for turn in row["messages"]] == ["system", *["user", "assistant"] * exchanges]
    assert inspect(done.output).splits[0].doubtful == 0


def test_reasoning_is_kept_apart_from_the_answer(writer, generate):
    def reply(text, system):
        return "no JSON" if text == "bad" else '{"reasoning": "1 and 1", "answer": "2"}'

    with writer(reply) as served:
        done = generate("cot_synthesis", {"questions": "1+1?\nbad"}, server=served.url, valid=0)
    (row,) = rows_of(done)
    assert row["messages"][1] == {"role": "assistant", "content": "2", "reasoning_content": "1 and 1"}
    assert done.summary["dropped"] == {"the reply has another shape than was asked for": 1}


def test_questions_are_asked_of_passages_and_answered_from_them(writer, generate):
    def reply(text, system):
        if text.startswith("Ask 2"):
            return '{"questions": ["What is red?", "What is blue?"]}'
        return "The apple is." if "red" in text else NOT_SAID

    documents = "\n\n".join(f"Apple {number} is red." for number in range(6))
    with writer(reply) as served:
        inputs = {"documents": documents, "questions_per_chunk": 2, "min_chunk_chars": 40}
        done = generate("rag_qa", inputs, server=served.url, valid=0, near=1)
    (row,) = rows_of(done)
    assert said(row)[1:] == [("user", "What is red?"), ("assistant", "The apple is.")]
    assert "Apple 0 is red." in said(row)[0][1]
    assert done.summary["dropped"]["the passage does not answer the question"] == 2


def test_a_request_and_a_draft_are_made_up_for_a_text(writer, generate):
    def reply(text, system):
        return "Describe it." if "Which request" in text else "A plain draft."

    with writer(reply) as served:
        done = generate("prompt_reconstruction", {"target_text": "My own words."}, server=served.url, valid=0)
    (row,) = rows_of(done)
    assert said(row)[-1] == ("assistant", "My own words.")
    assert row["metadata"] == {"inferred_prompt": "Describe it.", "draft": "A plain draft."}
    assert "A plain draft." in said(row)[1][1]


def test_tools_are_called_answered_and_concluded(writer, generate):
    def reply(text, system):
        if text == "Weather?":
            return [("weather", '{"city": "Bonn"}')]
        return "Hello." if text == "Hi" else "It rains."

    inputs = {"tools_json": json.dumps([TOOL]), "scenarios": "Weather?\nHi", "mock_results": "rain\nnone"}
    with writer(reply) as served:
        done = generate("tool_use_traces", inputs, server=served.url, valid=0)
    (row,) = rows_of(done)
    _, call, result, answer = row["messages"]
    assert call["tool_calls"][0]["function"]["name"] == "weather"
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"city": "Bonn"}
    assert (result["role"], result["content"], result["tool_call_id"]) == (
        "tool",
        "rain",
        call["tool_calls"][0]["id"],
    )
    assert answer["content"] == "It rains."
    assert done.summary["dropped"] == {"no tool was called": 1}
    assert inspect(done.output).splits[0].doubtful == 0


def test_code_is_parsed_and_never_run(writer, generate, tmp_path):
    trap = tmp_path / "trap"
    evil = f"open({str(trap)!r}, 'w')\ndef f(): pass\nassert f() is None"
    replies = {"add": FRAGMENT, "evil": evil, "bare": "def f(:", "none": "x = 1", "free": "assert 1 == 1"}
    with writer(lambda text, _: replies[text.rpartition(" ")[2]]) as served:
        done = generate("code_with_asserts", {"specs": "\n".join(replies)}, server=served.url, valid=0)
    assert [row["metadata"] for row in rows_of(done)] == [{"language": "python", "verified": None}] * 2
    assert not trap.exists()
    assert done.summary["dropped"] == {
        "the code is no Python": 1,
        "the code has no assertion": 1,
        "the code has no function": 1,
    }


def test_replies_that_are_cut_off_or_empty_are_dropped(writer, generate):
    def script(order):
        text = order.request.prompt[-1].parts[0].text
        yield Started("", "")
        yield TextDelta("" if text == "empty" else "words")
        yield Finished("length" if text == "cut" else "stop", Usage(), Timing())

    with writer(script=script) as served:
        inputs = {"reference_samples": "a", "raw_text": "cut\n\nempty\n\nwhole"}
        done = generate("style_transfer", inputs, server=served.url, valid=0)
    assert [row["prompt"] for row in rows_of(done)] == ["whole"]
    assert done.summary["dropped"] == {"the reply was cut off": 1, "the reply is empty": 1}


def test_a_request_that_is_too_long_for_the_model_is_dropped(writer, generate):
    inputs = {"reference_samples": "a", "raw_text": "short\n\n" + "long " * 2000}
    with writer(lambda *_: "words") as served:
        done = generate("style_transfer", inputs, server=served.url, valid=0)
    assert [row["prompt"] for row in rows_of(done)] == ["short"]
    assert done.summary["dropped"] == {"the request is too long for the model": 1}


def test_where_shapes_can_be_held_they_are_asked_for(writer, generate):
    shapes = []

    def script(order):
        shapes.append((order.request.output.kind, order.constraint is not None))
        yield Started("", "")
        yield TextDelta('{"reasoning": "a", "answer": "b"}')
        yield Finished("stop", Usage(), Timing())

    for plugins, wanted in (
        ((), [("text", False)]),
        ((("structured", structured),), [("json_schema", True)]),
    ):
        shapes.clear()
        with writer(script=script, plugins=plugins) as served:
            generate("cot_synthesis", {"questions": "1"}, server=served.url, valid=0)
        assert shapes == wanted


def test_the_same_seed_asks_the_same_whoever_is_first(writer, generate):
    seeds = {}

    def script(order):
        seeds.setdefault(order.request.prompt[-1].parts[0].text, []).append(order.request.sampling.seed)
        yield Started("", "")
        yield TextDelta("words " + order.request.prompt[-1].parts[0].text)
        yield Finished("stop", Usage(), Timing())

    inputs = {"reference_samples": "a", "raw_text": "\n\n".join("abcdefgh")}
    with writer(script=script) as served:
        rows = [
            rows_of(generate("style_transfer", inputs, server=served.url, at_once=at_once, seed=7, near=1))
            for at_once in (1, 8)
        ]
    assert rows[0] == rows[1]
    assert all(one == other for one, other in seeds.values())
    assert len({pair[0] for pair in seeds.values()}) == 8


def test_a_busy_server_is_asked_again(writer, generate):
    busy = iter([True, False])

    def script(order):
        if next(busy):
            raise Busy("all places are taken", headers=(("Retry-After", "1"),))
        yield Started("", "")
        yield TextDelta("words")
        yield Finished("stop", Usage(), Timing())

    with writer(script=lambda order: list(script(order))) as served:
        done = generate(
            "style_transfer", {"reference_samples": "a", "raw_text": "b"}, server=served.url, valid=0
        )
    assert done.summary["rows"] == 1


def test_wherever_a_job_was_killed_the_rows_are_the_same_in_the_end(writer, generate, site, context):
    inputs = {"reference_samples": "a", "raw_text": "\n\n".join(f"{letter * 9}." for letter in "abcdef")}
    with writer(lambda text, _: f"words {text}") as served:
        whole = rows_of(generate("style_transfer", inputs, context=context, server=served.url))
        kept = context.folder / "made.jsonl"
        content = kept.read_bytes()
        templates = {template.name: template for template in OWN}
        asked = GenerateParameters(
            template="style_transfer", name="made", inputs=inputs, server=served.url, replace=True
        )
        for cut in range(0, len(content) + 1, 17):
            kept.write_bytes(content[:cut])
            before = len(served.engine.orders)
            assert rows_of(Work(prepare(asked, site, templates), context, templates).do()) == whole
            assert len(served.engine.orders) - before == 6 - content[:cut].count(b"\n")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"server": "http://127.0.0.1:1"}, "does not answer"),
        ({"model": "other"}, "offers no model 'other', but sketch"),
    ],
)
def test_a_model_that_is_not_there_fails_the_job(writer, generate, more, words):
    with writer(lambda *_: "a") as served, pytest.raises(JobFailed, match=words):
        generate(
            "style_transfer", {"reference_samples": "a", "raw_text": "b"}, **{"server": served.url, **more}
        )


def test_a_key_of_the_settings_opens_their_server(writer, generate_with):
    inputs = {"reference_samples": "a", "raw_text": "b"}
    with writer(lambda *_: "words", flags={"server": {"api_keys": ("secret",)}}) as served:
        with pytest.raises(JobFailed, match="keys come from"):
            generate_with({}, "style_transfer", inputs, server=served.url)
        keyed = {"MLXP_SERVER_API_KEYS": "secret"}
        assert generate_with(keyed, "style_transfer", inputs, server=served.url, valid=0).summary["rows"] == 1


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://127.0.0.1:9", True),
        ("http://localhost:9", True),
        ("http://[::1]:9", True),
        ("http://box:8090/v1", True),
        ("http://box:9", False),
        ("https://box:8090", False),
        ("http://127.0.0.1.elsewhere:8090", False),
        ("http://127.0.0.1@elsewhere:8090", False),
    ],
)
def test_a_key_goes_to_this_machine_and_to_the_settings_own_address_alone(url, sent):
    settings = ServerSettings(host="box", port=8090, api_keys=("secret", "other"))
    assert key_for(address_of(url), settings) == ("secret" if sent else None)


@given(
    host=st.sampled_from(["127.0.0.1", "[::1]", "box", "[fe80::1]"]),
    port=st.none() | st.integers(1, 65535),
    path=st.sampled_from(["", "/v1", "/v1/", "/below/v1"]),
)
def test_an_address_reads_as_it_was_written(host, port, path):
    address = address_of(f"https://somebody:secret@{host}{'' if port is None else f':{port}'}{path}")
    assert address_of(str(address)) == address
    assert "secret" not in str(address)
    if port is not None:
        settings = ServerSettings(host=host.strip("[]"), port=port)
        assert address_of(usual_server(settings)).host == address.host
        assert str(address_of(usual_server(settings))) == usual_server(settings)
