"""What of a conversation is learned: the answers, all of them, and nothing else."""

import functools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import BadRequest
from mlxp_core.loading.sketch_tokenizer import sketch_tokenizer
from mlxp_core.prompting import ChatTemplate, Tokenizer, lesson, prepare
from mlxp_core.types import Call, GenerateRequest, Message, Result, Text, Thinking, ToolSpec

WEATHER = ToolSpec("weather", "Tells it.", {"type": "object", "properties": {"city": {"type": "string"}}})
SHY = "{{ messages | map(attribute='role') | join(' ') }}"
"""A template that shows no words."""


def says(role, *parts):
    return Message(role, tuple(Text(part) if isinstance(part, str) else part for part in parts))


def learned(told, tokenizer):
    return [tokenizer.decode(told.tokens[begin:end]) for begin, end in told.answers]


@pytest.fixture(scope="module")
def opened(shared):
    """Open template and tokenizer of a real family, each once."""
    names = {"gemma4": "chat_template.31b.2026-07-09.jinja", "qwen35": "chat_template.jinja"}

    @functools.cache
    def open_(family):
        folder = shared / "assets" / family
        text = (folder / "tokenizer.json").read_bytes()
        known = {token["content"]: token["id"] for token in json.loads(text)["added_tokens"]}
        ends = {known[word] for word in ("<turn|>", "<|tool_response>", "<|im_end|>") if word in known}
        tokenizer = Tokenizer(text, end_tokens=frozenset(ends))
        return ChatTemplate((folder / names[family]).read_text(), tokens={"bos_token": "<bos>"}), tokenizer

    return open_


@pytest.fixture(params=["gemma4", "qwen35"])
def real(opened, request):
    """Template and tokenizer of a real family."""
    return opened(request.param)


@pytest.fixture(scope="module")
def ending():
    """The sketch's tokenizer, which knows how a turn ends."""
    text = json.dumps(sketch_tokenizer()).encode()
    end = Tokenizer(text).token_id("<|im_end|>")
    return Tokenizer(text, size=384, begin="<s>", begins=True, end_tokens=frozenset({end}))


words = st.text("abc<>/ \né😀", min_size=1, max_size=12).filter(lambda text: text.strip())


@given(st.lists(st.tuples(words, words), min_size=1, max_size=3), st.booleans())
def test_every_answer_is_learned_and_nothing_else(template, ending, exchanges, instructed):
    messages = [says("system", "Be brief.")] if instructed else []
    for question, answer in exchanges:
        messages += [says("user", question), says("assistant", answer)]
    told = lesson(messages, (), template=template, tokenizer=ending)
    assert learned(told, ending) == [f"{answer}<|im_end|>" for _, answer in exchanges]


def test_what_is_learned_goes_on_where_the_server_would_ask(real, thinking):
    template, tokenizer = real
    messages = [
        says("user", "Who?"),
        says("assistant", "Me."),
        says("user", "And?"),
        says("assistant", "You."),
    ]
    told = lesson(messages, (), template=template, tokenizer=tokenizer, thinking=thinking)
    request = GenerateRequest(id="r", model="m", prompt=tuple(messages[:3]), thinking=False)
    prompt = prepare(request, template=template, tokenizer=tokenizer, thinking=thinking)
    begin, end = told.answers[-1]
    assert told.tokens[:begin] == prompt.tokens
    assert told.tokens[end - 1] in tokenizer.end_tokens
    assert [text.rpartition("<")[0] for text in learned(told, tokenizer)] == ["Me.", "You."]


def test_calls_are_learned_and_what_tools_answer_is_not(real, thinking):
    template, tokenizer = real
    call = Call("c1", "weather", '{"city": "Rome"}')
    result = Message("tool", (Result("c1", (Text("sunny there"),)),))
    messages = [says("user", "Weather?"), says("assistant", call), result, says("assistant", "Fine.")]
    messages += [says("user", "Thanks"), says("assistant", "Bye.")]
    told = lesson(messages, (WEATHER,), template=template, tokenizer=tokenizer, thinking=thinking)
    called, fine, bye = learned(told, tokenizer)
    assert "weather" in called
    assert "Rome" in called
    assert called.startswith(("<|tool_call>", "<tool_call>"))
    assert fine.startswith("Fine.")
    assert bye.startswith("Bye.")
    assert "sunny" not in called + fine + bye
    assert "Tells it" not in called + fine + bye


def test_thinking_is_learned_where_the_template_tells_it(real, thinking):
    template, tokenizer = real
    messages = [says("user", "Who?"), says("assistant", Thinking("let me see"), "Me.")]
    told = lesson(messages, (), template=template, tokenizer=tokenizer, thinking=thinking)
    (text,) = learned(told, tokenizer)
    assert ("let me see" in text) == ("let me see" in told.text)
    assert "Me." in text


def test_a_turn_whose_thinking_the_template_drops_teaches_no_empty_thinking(opened, thinking):
    template, tokenizer = opened("qwen35")
    messages = [says("user", "a"), says("assistant", Thinking("hm"), "One."), says("user", "b")]
    messages += [says("assistant", Thinking("well"), "Two.")]
    told = lesson(messages, (), template=template, tokenizer=tokenizer, thinking=thinking)
    one, two = learned(told, tokenizer)
    assert one.startswith("One.")
    assert two.startswith("well\n</think>")


def test_what_stands_behind_the_last_answer_is_left_out(template, tokenizer):
    messages = [says("user", "a"), says("assistant", "b")]
    short = lesson(messages, (), template=template, tokenizer=tokenizer)
    assert lesson([*messages, says("user", "c")], (), template=template, tokenizer=tokenizer) == short


def test_what_teaches_nothing_is_refused(template, tokenizer, strict):
    for messages, taken in (
        ([says("user", "a")], template),
        ([says("user", "a"), says("assistant", "b")], ChatTemplate(SHY)),
        ([says("assistant", "a"), says("assistant", "b")], strict),
    ):
        with pytest.raises(BadRequest):
            lesson(messages, (), template=taken, tokenizer=tokenizer)


def test_schemas_that_are_nested_too_deeply_are_refused(template, tokenizer):
    schema = {"type": "string"}
    for _ in range(2000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(BadRequest):
        lesson(
            [says("user", "a"), says("assistant", "b")],
            (ToolSpec("deep", "", schema),),
            template=template,
            tokenizer=tokenizer,
        )
