"""Responses that are kept: how they are shown, listed, deleted, and gone on from."""

import json

import pytest
from openai.types.responses import Response, ResponseItemList

from mlxp_core.errors import BadRequest, NotFound
from mlxp_core.testing import scripts
from mlxp_core.types import Call, Message, Result, Text, Thinking, WireRequest

ONE = "/v1/responses/{response_id:str}"
ITEMS = f"{ONE}/input_items"


def user(text):
    return Message("user", (Text(text),))


def test_a_kept_response_is_shown_as_it_ended(answer, query):
    said = answer(scripts.TWO_CALLS.events)
    assert query("GET", ONE, said["id"]) == said
    Response.model_validate(said, strict=True)


def test_a_conversation_goes_on_from_a_response(answer, decode):
    answer(scripts.THINKING_THEN_ANSWER.events, input="first", instructions="Forget me.")
    tool = {"type": "function", "name": "weather"}
    answer(scripts.CALL_AFTER_TEXT.events, input="second", previous_response_id="resp_1", tools=[tool])
    outputs = [{"type": "function_call_output", "call_id": "call_0", "output": "sun"}]
    decoded = decode(input=outputs, previous_response_id="resp_2", instructions="Be brief.")
    assert decoded.request.prompt == (
        Message("system", (Text("Be brief."),)),
        user("first"),
        Message("assistant", (Thinking("Let me see.\n"), Text("42 it is."))),
        user("second"),
        Message(
            "assistant",
            (Text("I will look."), Call("call_0", "weather", '{"city": "Łódź", "days": 3}')),
        ),
        Message("tool", (Result("call_0", (Text("sun"),)),)),
    )
    assert decoded.warnings == ()


def test_branches_of_a_conversation_know_nothing_of_each_other(answer, decode):
    answer(scripts.PLAIN.events, input="root")
    answer(scripts.PLAIN.events, input="left", previous_response_id="resp_1")
    prompt = decode(input="right", previous_response_id="resp_1").request.prompt
    assert prompt == (user("root"), Message("assistant", (Text("Hello, world!"),)), user("right"))


def test_an_input_is_not_needed_to_go_on(surface, answer):
    answer(scripts.PLAIN.events)
    body = json.dumps({"previous_response_id": "resp_1"}).encode()
    assert len(surface.endpoints[0].decode(WireRequest(body=body)).request.prompt) == 2


def test_an_unknown_response_cannot_be_gone_on_from(surface, decode):
    with pytest.raises(BadRequest) as caught:
        decode(previous_response_id="resp_x")
    response = surface.render_error(caught.value)
    error = json.loads(response.body)["error"]
    assert response.status == 404
    assert (error["type"], error["code"]) == ("invalid_request_error", "previous_response_not_found")
    assert error["param"] == "previous_response_id"
    assert "resp_x" in error["message"]


@pytest.mark.parametrize("script", [scripts.PLAIN, scripts.LENGTH, scripts.CANCELLED], ids=lambda s: s.name)
@pytest.mark.parametrize("stream", [True, False])
def test_what_ended_is_kept_unless_the_client_forbids(decode, store, script, stream):
    for wanted, kept in ((None, True), (True, True), (False, False)):
        decoded = decode(store=wanted, stream=stream)
        for event in script.events:
            decoded.encoder.feed(event)
        assert (store.get(decoded.request.id) is not None) == kept


def test_nothing_is_kept_of_a_failure_or_before_the_end(decode, store):
    decoded = decode(stream=True)
    for event in scripts.PLAIN.events[:-1]:
        decoded.encoder.feed(event)
    assert store.get(decoded.request.id) is None
    decoded = decode()
    for event in scripts.FAILURE_MIDWAY.events:
        decoded.encoder.feed(event)
    assert store.get(decoded.request.id) is None


def test_a_reference_stands_for_the_item_that_it_names(answer, decode, store):
    answer(scripts.PLAIN.events, input="first")
    references = [{"id": "msg_1_in0"}, {"type": "item_reference", "id": "msg_1_0"}]
    decoded = decode(input=[*references, {"role": "user", "content": "second"}])
    said = Message("assistant", (Text("Hello, world!"),))
    assert decoded.request.prompt == (user("first"), said, user("second"))
    for event in scripts.PLAIN.events:
        decoded.encoder.feed(event)
    assert len(store.get(decoded.request.id).given) == 3


def test_a_reference_to_what_is_not_kept_is_passed_over_with_a_warning(decode):
    decoded = decode(input=[{"id": "rs_x", "type": "item_reference"}, {"role": "user", "content": "hi"}])
    assert decoded.request.prompt == (user("hi"),)
    assert decoded.warnings == ("input[0] (item_reference to 'rs_x', which is not kept here)",)


def test_a_deleted_response_is_gone_but_not_from_its_conversation(answer, query, decode):
    answer(scripts.PLAIN.events, input="first")
    answer(scripts.PLAIN.events, input="second", previous_response_id="resp_1")
    assert query("DELETE", ONE, "resp_1") == {"id": "resp_1", "object": "response", "deleted": True}
    for method, path in (("GET", ONE), ("DELETE", ONE), ("GET", ITEMS), ("POST", f"{ONE}/cancel")):
        with pytest.raises(NotFound, match="resp_1"):
            query(method, path, "resp_1")
    assert len(decode(previous_response_id="resp_2").request.prompt) == 5


def test_what_did_not_run_in_the_background_cannot_be_cancelled(answer, query):
    answer(scripts.PLAIN.events)
    with pytest.raises(BadRequest, match="did not run in the background"):
        query("POST", f"{ONE}/cancel", "resp_1")


def test_a_response_that_ended_is_not_streamed_again(answer, query):
    answer(scripts.PLAIN.events)
    assert query("GET", ONE, "resp_1", stream="false")["id"] == "resp_1"
    with pytest.raises(BadRequest, match="stream"):
        query("GET", ONE, "resp_1", stream="true")


def test_input_items_are_listed_in_the_form_of_the_api(answer, query):
    given = [
        {"role": "user", "content": "easy"},
        {"role": "developer", "content": [{"type": "input_text", "text": "full"}]},
        {"role": "assistant", "content": "said"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        {"type": "reasoning", "id": "rs_mine", "summary": []},
    ]
    answer(scripts.PLAIN.events, input=given)
    page = query("GET", ITEMS, "resp_1", order="asc")
    assert [item.type for item in ResponseItemList.model_validate(page, strict=True).data] == [
        *["message"] * 3,
        "function_call",
        "function_call_output",
        "reasoning",
    ]
    ids = [item["id"] for item in page["data"]]
    assert ids == ["msg_1_in0", "msg_1_in1", "msg_1_in2", "fc_1_in3", "fco_1_in4", "rs_mine"]
    assert [item.get("status") for item in page["data"]] == ["completed"] * 5 + [None]
    assert page["data"][0]["content"] == [{"type": "input_text", "text": "easy"}]
    assert page["data"][2]["content"] == [{"type": "output_text", "text": "said", "annotations": []}]


def test_input_items_are_paged(answer, query):
    answer(scripts.PLAIN.events, input=[{"role": "user", "content": str(at)} for at in range(25)])

    def page(**asked):
        told = query("GET", ITEMS, "resp_1", **asked)
        texts = [item["content"][0]["text"] for item in told["data"]]
        assert (told["first_id"], told["last_id"]) == (told["data"][0]["id"], told["data"][-1]["id"])
        return texts, told["has_more"]

    assert page() == ([str(at) for at in range(24, 4, -1)], True)
    assert page(after="msg_1_in5") == (["4", "3", "2", "1", "0"], False)
    assert page(order="asc", limit="2", after="msg_1_in0") == (["1", "2"], True)
    assert page(limit="25") == ([str(at) for at in range(24, -1, -1)], False)


def test_input_items_of_a_later_turn_hold_all_before_it(answer, query):
    answer(scripts.PLAIN.events, input="first")
    answer(scripts.PLAIN.events, input="second", previous_response_id="resp_1")
    page = query("GET", ITEMS, "resp_2", order="asc")
    assert [item["id"] for item in page["data"]] == ["msg_1_in0", "msg_1_0", "msg_2_in0"]


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"order": "up"}, "order"),
        ({"after": "x"}, "after"),
    ],
)
def test_a_page_that_cannot_be_read_names_its_parameter(answer, query, asked, param):
    answer(scripts.PLAIN.events)
    with pytest.raises(BadRequest) as caught:
        query("GET", ITEMS, "resp_1", **asked)
    assert caught.value.param == param
    assert param in caught.value.message


def test_an_empty_list_has_no_ends(answer, query):
    answer(scripts.PLAIN.events, input="", instructions="Say hi.")
    assert query("GET", ITEMS, "resp_1") == {
        "object": "list",
        "data": [],
        "first_id": None,
        "last_id": None,
        "has_more": False,
    }
