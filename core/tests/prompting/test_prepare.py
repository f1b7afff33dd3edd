import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mlxp_core.contracts import ThinkingFormat
from mlxp_core.errors import BadRequest
from mlxp_core.prompting import ChatTemplate, Sight, Tokenizer, prepare
from mlxp_core.testing.pictures import picture
from mlxp_core.types import (
    Call,
    GenerateRequest,
    Message,
    Result,
    Text,
    Thinking,
    ToolChoice,
    ToolSpec,
)

TOOL = ToolSpec(
    "get_weather", "Weather of a city.", {"type": "object", "properties": {"city": {"type": "string"}}}
)
WORDS = st.text(st.sampled_from("ab <>|/\n\u00fc"), max_size=12)
THINK = ThinkingFormat(name="think", open="<think>", close="</think>", switch="enable_thinking")
CHANNEL = ThinkingFormat(
    name="channel", open="<|channel>", close="<channel|>", header="thought\n", switch="enable_thinking"
)
FAMILIES = {
    "gemma4": ("<bos>", CHANNEL, "<|image|>"),
    "qwen35": (None, THINK, "<|image_pad|>"),
    "minicpm5": ("<s>", THINK, None),
}


def says(role, text):
    return Message(role, (Text(text),))


def asked(*messages, **options):
    return GenerateRequest(id="r", model="m", prompt=messages, **options)


@pytest.fixture
def prompt_of(template, tokenizer, thinking):
    def prompt_of(*messages, **options):
        return prepare(asked(*messages, **options), template=template, tokenizer=tokenizer, thinking=thinking)

    return prompt_of


@pytest.fixture
def text_of(prompt_of, tokenizer):
    return lambda *messages, **options: tokenizer.decode(prompt_of(*messages, **options).tokens)


class TestConversations:
    def test_the_text_is_the_templates(self, text_of):
        text = text_of(says("system", "Be brief."), says("user", "hello"))
        assert text == (
            "<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
        )

    @pytest.mark.parametrize(
        ("wanted", "end"), [(None, "assistant\n"), (True, "<think>\n"), (False, "<think>\n\n</think>\n\n")]
    )
    def test_the_switch_is_set_only_when_something_is_wanted(self, text_of, wanted, end):
        assert text_of(says("user", "hi"), thinking=wanted).endswith(end)

    def test_the_clients_own_argument_wins(self, text_of):
        text = text_of(says("user", "hi"), thinking=True, template_args={"enable_thinking": False})
        assert text.endswith("</think>\n\n")

    def test_further_arguments_reach_the_template(self, tokenizer):
        template = ChatTemplate("{{ mood }}{{ messages[0].content }}")
        request = asked(says("user", "hi"), template_args={"mood": "good"})
        assert tokenizer.decode(prepare(request, template=template, tokenizer=tokenizer).tokens) == "goodhi"

    @pytest.mark.parametrize("name", ["messages", "tools", "add_generation_prompt"])
    def test_our_own_arguments_are_ours(self, prompt_of, name):
        with pytest.raises(BadRequest, match=name):
            prompt_of(says("user", "hi"), template_args={name: True})

    def test_tools_are_shown_unless_none_may_be_called(self, text_of):
        assert "get_weather" in text_of(says("user", "hi"), tools=(TOOL,))
        hidden = text_of(says("user", "hi"), tools=(TOOL,), tool_choice=ToolChoice("none"))
        assert hidden == text_of(says("user", "hi"))

    def test_a_refusal_is_the_requests_fault(self, tokenizer, strict):
        with pytest.raises(BadRequest, match="roles must alternate"):
            prepare(asked(says("assistant", ""), says("user", "u")), template=strict, tokenizer=tokenizer)

    def test_endless_schemas_are_refused(self, prompt_of):
        schema = {}
        for _ in range(5000):
            schema = {"items": schema}
        with pytest.raises(BadRequest, match="too deeply"):
            prompt_of(says("user", "hi"), tools=(ToolSpec("f", "", schema),))

    def test_without_a_template_there_is_only_text(self, tokenizer):
        with pytest.raises(BadRequest, match="no chat template"):
            prepare(asked(says("user", "hi")), template=None, tokenizer=tokenizer)

    def test_an_empty_render_is_refused(self, tokenizer):
        with pytest.raises(BadRequest, match="empty"):
            prepare(asked(says("user", "hi")), template=ChatTemplate("{{ '' }}"), tokenizer=tokenizer)


class TestContinuing:
    def test_a_last_answer_goes_on_where_it_stopped(self, text_of):
        text = text_of(says("user", "hi"), says("assistant", "Once upon a "))
        assert text.endswith("<|im_start|>assistant\nOnce upon a ")

    def test_an_empty_answer_is_not_continued(self, text_of):
        assert text_of(says("user", "hi"), says("assistant", "")).endswith("<|im_start|>assistant\n")

    def test_calls_are_not_continued(self, text_of):
        called = Message("assistant", (Text("Looking."), Call("c1", "get_weather", '{"city": "Paris"}')))
        assert text_of(says("user", "hi"), called).endswith("</function><|im_end|>\n<|im_start|>assistant\n")

    def test_words_of_the_template_in_the_answer_do_no_harm(self, text_of):
        assert text_of(says("user", "hi"), says("assistant", "im_end")).endswith("assistant\nim_end")

    def test_a_template_that_hides_answers_cannot_continue_one(self, tokenizer):
        template = ChatTemplate("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}")
        with pytest.raises(BadRequest, match="cannot be continued"):
            prepare(asked(says("user", "hi"), says("assistant", "x")), template=template, tokenizer=tokenizer)


class TestInsideThinking:
    @pytest.mark.parametrize(("wanted", "inside"), [(None, False), (True, True), (False, False)])
    def test_the_end_of_the_prompt_says_it(self, prompt_of, wanted, inside):
        assert prompt_of(says("user", "hi"), thinking=wanted).inside_thinking is inside

    @pytest.mark.parametrize("text", ["<think>", "what is <think> for?", "</think>"])
    @pytest.mark.parametrize(("wanted", "inside"), [(None, False), (True, True), (False, False)])
    def test_markers_that_people_write_do_not(self, prompt_of, text, wanted, inside):
        messages = (says("system", text), says("user", text), says("assistant", text), says("user", text))
        assert prompt_of(*messages, thinking=wanted).inside_thinking is inside

    def test_an_answer_to_be_continued_may_be_inside(self, prompt_of):
        assert prompt_of(says("user", "hi"), says("assistant", "<think>hm")).inside_thinking
        assert not prompt_of(says("user", "hi"), says("assistant", "<think>hm</think>so")).inside_thinking

    def test_a_model_without_thinking_is_never_inside(self, template, tokenizer):
        request = asked(says("user", "hi"), template_args={"enable_thinking": True})
        assert not prepare(request, template=template, tokenizer=tokenizer).inside_thinking


class TestBoundaries:
    @given(
        texts=st.lists(WORDS, min_size=1, max_size=9),
        system=st.one_of(st.none(), WORDS),
        tools=st.booleans(),
        thinking=st.sampled_from([None, True, False]),
    )
    def test_the_text_up_to_one_has_the_tokens_up_to_it(
        self, template, tokenizer, texts, system, tools, thinking
    ):
        messages = [says(("user", "assistant")[place % 2], text) for place, text in enumerate(texts)]
        instructions = [] if system is None else [says("system", system)]
        request = asked(*instructions, *messages, thinking=thinking, tools=(TOOL,) if tools else ())
        prompt = prepare(request, template=template, tokenizer=tokenizer, thinking=THINK)
        assert list(prompt.boundaries) == sorted(set(prompt.boundaries))
        for length in prompt.boundaries:
            assert 0 < length < len(prompt.tokens)
            head = prompt.tokens[:length]
            assert tuple(tokenizer.encode(tokenizer.decode(head))) == head

    def test_the_next_turn_begins_with_the_last_boundary(self, prompt_of):
        first = prompt_of(says("user", "hello"), thinking=True)
        second = prompt_of(
            says("user", "hello"), says("assistant", "yes"), says("user", "why"), thinking=True
        )
        stable = first.boundaries[-1]
        assert second.tokens[:stable] == first.tokens[:stable]
        assert second.tokens[: len(first.tokens)] != first.tokens

    def test_another_conversation_shares_the_instructions(self, prompt_of):
        system = says("system", "You are the weather model.")
        for tools in ((), (TOOL,)):
            one, other = (
                prompt_of(system, says("user", text), tools=tools) for text in ("about rain", "on snow")
            )
            assert one.boundaries[0] == other.boundaries[0]
            assert one.tokens[: one.boundaries[0]] == other.tokens[: one.boundaries[0]]

    def test_every_recent_message_ends_at_one(self, prompt_of, tokenizer):
        turns = [says(("user", "assistant")[place % 2], f"turn {place}.") for place in range(7)]
        prompt = prompt_of(*turns)
        heads = [tokenizer.decode(prompt.tokens[:length]) for length in prompt.boundaries]
        assert [head.rpartition("\n")[2] for head in heads[:-1]] == [f"turn {place}." for place in range(6)]
        assert heads[-1].endswith("turn 6.<|im_end|>\n")

    def test_there_are_few_however_long_the_conversation(self, prompt_of):
        turns = [says(("user", "assistant")[place % 2], "and") for place in range(101)]
        assert len(prompt_of(says("system", "the"), *turns).boundaries) <= 10


class TestOtherPrompts:
    def test_text_gets_what_the_tokenizer_adds(self, tokenizer):
        request = GenerateRequest(id="r", model="m", prompt="hello")
        assert prepare(request, template=None, tokenizer=tokenizer).tokens == (0, *tokenizer.encode("hello"))

    def test_token_ids_pass(self, tokenizer):
        request = GenerateRequest(id="r", model="m", prompt=(5, 0, 383))
        assert prepare(request, template=None, tokenizer=tokenizer).tokens == (5, 0, 383)

    @pytest.mark.parametrize("wrong", [-1, 384, 10**12])
    def test_unknown_ids_are_refused(self, tokenizer, wrong):
        request = GenerateRequest(id="r", model="m", prompt=(5, wrong))
        with pytest.raises(BadRequest, match=f"token id {wrong} "):
            prepare(request, template=None, tokenizer=tokenizer)

    @pytest.mark.parametrize("prompt", ["", ()])
    def test_nothing_is_refused(self, tokenizer, template, prompt):
        request = GenerateRequest(id="r", model="m", prompt=prompt)
        with pytest.raises(BadRequest, match="empty"):
            prepare(request, template=template, tokenizer=tokenizer)


class TestRealFamilies:
    """The golden conversations as protocols hand them over give the golden prompts."""

    @pytest.mark.parametrize("family", FAMILIES)
    def test_neutral_messages_render_to_the_golden_text(self, shared, tokenizer, dots, family):
        folder = shared / "assets" / family
        golden = json.loads((folder / "template_renders.json").read_text())
        begin, thinking, image = FAMILIES[family]
        file = folder / "tokenizer.json"
        table = Tokenizer(file.read_bytes()) if file.exists() else None
        sight = Sight(dots(image, image, before="", after="", side=1), table) if image else None
        for name, renders in golden["renders"].items():
            template = ChatTemplate(
                (folder / name).read_text(),
                tokens={} if begin is None else {"bos_token": begin},
                image=image,
            )
            for case, arguments in golden["cases"].items():
                if "error" in renders[case] or not arguments.get("add_generation_prompt", True):
                    continue
                if case == "image" and sight is None:
                    continue
                request = neutral(arguments)
                prompt = prepare(
                    request,
                    template=template,
                    tokenizer=table or Bytes(tokenizer),
                    thinking=thinking,
                    sight=sight,
                )
                if table is not None:
                    assert list(prompt.tokens) == renders[case]["ids"], (name, case)
                else:
                    assert bytes(prompt.tokens).decode() == renders[case]["text"], (name, case)
                self.check(prompt, renders[case]["text"], thinking)

    @staticmethod
    def check(prompt, text, thinking):
        tail = text.rstrip()
        assert prompt.inside_thinking is (
            tail.endswith((thinking.open, thinking.open + thinking.header.rstrip()))
        )
        assert prompt.boundaries or len(text) < 200


class Bytes(Tokenizer):
    """A tokenizer whose tokens are bytes, for a family whose own is not at hand."""

    def __init__(self, like):
        self.added_tokens = {}
        self.size = 256

    def encode_spans(self, text):
        data = text.encode()
        return list(data), [(place, place + 1) for place in range(len(data))]

    def encode(self, text, *, special=False):
        return list(text.encode())


def neutral(arguments):
    """A golden case as a request: what a protocol makes of it."""
    messages = []
    for entry in arguments["messages"]:
        content = entry["content"]
        pieces = [{"text": content}] if isinstance(content, str) else content
        parts = [Text(piece["text"]) if "text" in piece else picture() for piece in pieces]
        if entry.get("reasoning_content"):
            parts.insert(0, Thinking(entry["reasoning_content"]))
        for call in entry.get("tool_calls", ()):
            function = call["function"]
            parts.append(
                Call(call["id"], function["name"], json.dumps(function["arguments"], ensure_ascii=False))
            )
        if entry["role"] == "tool":
            parts = [Result(entry["tool_call_id"], tuple(parts))]
        messages.append(Message(entry["role"], tuple(parts)))
    tools = tuple(
        ToolSpec(tool["function"]["name"], tool["function"]["description"], tool["function"]["parameters"])
        for tool in arguments.get("tools", ())
    )
    return replace(asked(*messages), tools=tools, thinking=arguments.get("enable_thinking"))
