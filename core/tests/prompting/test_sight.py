import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mlxp_core.errors import BadRequest, PluginError
from mlxp_core.prompting import ChatTemplate, Sight, prepare
from mlxp_core.prompting.normalize import normalize
from mlxp_core.prompting.traits import TemplateTraits
from mlxp_core.testing.pictures import picture
from mlxp_core.types import Call, GenerateRequest, ImageBytes, Message, Result, Text

PLACEHOLDER, SOFT, BEGIN, END = 4, 5, 6, 7
SMALL, WIDE = picture(2, 2), picture(9, 2)
SIZES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=4)

SEEING = """
{%- macro shown(content) -%}
    {%- if content is string -%}{{ content }}
    {%- else -%}
        {%- for part in content -%}{{ part.text if part.type == 'text' else '<|reserved_4|>' }}{%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
{%- for message in messages -%}
    {{- message.role ~ ':' ~ (TOOL if message.role == 'tool' else shown(message.content)) ~ '\n' -}}
{%- endfor -%}
"""
IN_RESULTS = SEEING.replace("TOOL", "shown(message.content)")
WORDS_ONLY = SEEING.replace("TOOL", "(message.content if message.content is string else '?')")
BLIND = "{% for message in messages %}{{ message.role ~ ':' ~ message.content ~ '\\n' }}{% endfor %}"
RESULT = (
    Message("user", (Text("look"),)),
    Message("assistant", (Call("c", "shoot", "{}"), Call("d", "shoot", "{}"))),
    Message("tool", (Result("c", (Text("here"), SMALL)),)),
    Message("tool", (Result("d", (WIDE,)),)),
)


def asked(*messages):
    return GenerateRequest(id="r", model="m", prompt=messages)


def says(*parts):
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


@pytest.fixture(scope="module")
def sight(dots, tokenizer):
    return Sight(dots(), tokenizer, settings={"side": 4}, whole_images=True)


@pytest.fixture(scope="module")
def ask(tokenizer, sight):
    def ask(*messages, template=IN_RESULTS, eyes=sight):
        compiled = ChatTemplate(template, image="<|reserved_4|>")
        return prepare(asked(*messages), template=compiled, tokenizer=tokenizer, sight=eyes)

    return ask


def shown(prompt, tokenizer):
    """Write a prompt with each run of soft tokens as a number."""
    text = tokenizer.decode(prompt.tokens)
    for span in sorted(prompt.spans, key=lambda span: -span.count):
        text = text.replace("<|reserved_5|>" * span.count, f"[{span.count}]")
    return text.replace("<|reserved_6|>", "(").replace("<|reserved_7|>", ")")


class TestLooking:
    def test_a_digest_tells_images_and_settings_apart(self, dots, tokenizer, sight):
        digests = {pixels.digest for pixels in sight.look([SMALL, WIDE])}
        other = Sight(dots(), tokenizer, settings={"side": 5})
        assert digests.isdisjoint(pixels.digest for pixels in other.look([SMALL, WIDE]))
        assert len(digests) == 2
        assert sight.look([SMALL])[0].digest in digests
        assert len(digests.pop()) == hashlib.sha256().digest_size * 2

    def test_an_image_that_cannot_be_read_is_named(self, sight):
        with pytest.raises(BadRequest, match="image 2 is no image"):
            sight.look([SMALL, ImageBytes(b"no"), SMALL])

    def test_an_image_that_the_preparer_refuses_is_named(self, sight):
        with pytest.raises(BadRequest, match="image 1: the image is too wide") as caught:
            sight.look([picture(101, 1)])
        assert caught.value.param == "prompt"

    @pytest.mark.parametrize(
        "lie", [{"values": b""}, {"tokens": 0}, {"tokens": 3}, {"grid": (1, 2, 3)}, {"dtype": "float32"}]
    )
    def test_a_preparer_that_contradicts_itself_is_found_out(self, dots, tokenizer, lie):
        class Liar(dots):
            def prepare(self, image, digest):
                return replace(super().prepare(image, digest), **lie)

        with pytest.raises(PluginError):
            Sight(Liar(), tokenizer).look([SMALL])

    def test_a_placeholder_must_be_a_token(self, dots, tokenizer):
        with pytest.raises(PluginError, match="'<nobody>' should stand for images"):
            Sight(dots(placeholder="<nobody>"), tokenizer)


class TestExpansion:
    @given(sizes=SIZES, between=st.lists(st.lists(st.integers(40, 50), max_size=5), min_size=5, max_size=5))
    def test_spans_are_where_the_soft_tokens_are(self, sight, sizes, between):
        images = sight.look([picture(*size) for size in sizes])
        tokens = [*between[0]]
        for words in between[1 : len(images) + 1]:
            tokens += [PLACEHOLDER, *words]
        expanded = sight.expand(tokens, images, range(len(tokens) + 1))
        soft = [place for place, token in enumerate(expanded.tokens) if token == SOFT]
        assert soft == [place for span in expanded.spans for place in range(span.start, span.end)]
        assert [span.count for span in expanded.spans] == [pixels.tokens for pixels in images]
        assert [span.grid for span in expanded.spans] == [pixels.grid for pixels in images]
        rest = [token for token in expanded.tokens if 40 <= token <= 50]
        assert rest == [token for words in between[: len(images) + 1] for token in words]
        assert all(
            expanded.tokens[span.start - 1] == BEGIN and expanded.tokens[span.end] == END
            for span in expanded.spans
        )

    @given(sizes=SIZES, boundary=st.integers(0, 9))
    def test_a_boundary_stays_between_the_same_tokens(self, sight, sizes, boundary):
        images = sight.look([picture(*size) for size in sizes])
        tokens = [*range(40, 46), *[PLACEHOLDER] * len(images), 47]
        at = min(boundary, len(tokens))
        head = sight.expand(tokens[:at], images[: tokens[:at].count(PLACEHOLDER)], ())
        assert sight.expand(tokens, images, [at]).boundaries == (len(head.tokens),)

    def test_an_expansion_may_be_the_soft_tokens_alone(self, dots, tokenizer):
        bare = Sight(dots(before="", after="", each="<|reserved_4|>"), tokenizer)
        (pixels,) = bare.look([SMALL])
        assert bare.expand([1, PLACEHOLDER, 2], [pixels], ()).tokens == (1, *[PLACEHOLDER] * 4, 2)

    def test_each_must_be_one_token(self, dots, tokenizer):
        sight = Sight(dots(each="two words"), tokenizer)
        with pytest.raises(PluginError, match="'two words'"):
            sight.expand([PLACEHOLDER], sight.look([SMALL]), ())


class TestPrompts:
    def test_images_stand_where_they_were_sent(self, ask, tokenizer):
        prompt = ask(says("a", SMALL, "b", WIDE), says(SMALL, "c"))
        assert shown(prompt, tokenizer) == "user:a([4]).b([8]).\nuser:([4]).c\n"
        assert [pixels.shape for pixels in prompt.images] == [(2, 2, 3), (2, 4, 3), (2, 2, 3)]
        assert prompt.whole_images

    def test_a_prompt_without_images_is_as_it_was(self, ask, tokenizer):
        prompt = ask(says("a <|reserved_4|>"))
        assert prompt.images == prompt.spans == ()
        assert PLACEHOLDER in prompt.tokens

    @pytest.mark.parametrize("parts", [("a <|reserved_4|>", SMALL), (SMALL, "<|reserved_4|><|reserved_4|>")])
    def test_a_placeholder_in_a_text_is_refused(self, ask, parts):
        with pytest.raises(BadRequest, match=r"has 1 images, but its prompt shows [23]"):
            ask(says(*parts))

    def test_an_image_that_the_template_leaves_out_is_refused(self, ask):
        with pytest.raises(BadRequest, match="has 1 images, but its prompt shows 0"):
            ask(says(SMALL), template=BLIND)

    def test_a_model_without_eyes_refuses_images(self, ask):
        with pytest.raises(BadRequest, match="cannot see"):
            ask(says(SMALL), eyes=None)

    def test_boundaries_lie_behind_messages_with_images(self, ask, tokenizer):
        first, second = says(SMALL, "one"), Message("assistant", (Text("two"),))
        prompt = ask(first, second, says(WIDE, "three"))
        heads = [tokenizer.decode(prompt.tokens[:length]) for length in prompt.boundaries]
        assert any(head.endswith("one") for head in heads)
        assert any(head.endswith("two") for head in heads)


class TestResults:
    def test_images_stay_in_results_where_the_template_shows_them(self, ask, tokenizer):
        prompt = ask(*RESULT)
        assert shown(prompt, tokenizer).endswith("tool:here([4]).\ntool:([8]).\n")

    def test_elsewhere_they_follow_the_results(self, ask, tokenizer):
        prompt = ask(*RESULT, template=WORDS_ONLY)
        assert shown(prompt, tokenizer).endswith(
            "tool:here\ntool:The result is the image below.\nuser:Images of the tool results:\n([4]).([8]).\n"
        )

    def test_the_conversation_goes_on_behind_them(self, ask, tokenizer):
        prompt = ask(*RESULT, says("and?", SMALL), template=WORDS_ONLY)
        assert shown(prompt, tokenizer).endswith("([4]).([8]).\nuser:and?([4]).\n")
        assert [span.count for span in prompt.spans] == [4, 8, 4]

    def test_words_of_results_are_left_alone(self):
        told = (
            RESULT[0],
            Message("assistant", (Call("c", "f", "{}"),)),
            Message("tool", (Result("c", (Text("x"),)),)),
        )
        assert normalize(told, TemplateTraits(images_in_results=False)) == list(told)

    def test_a_failed_result_with_an_image_says_so(self, ask, tokenizer):
        failed = Message("tool", (Result("d", (Text("dark"), WIDE), failed=True),))
        assert "tool:Error: dark([8])." in shown(ask(*RESULT[:3], failed), tokenizer)


class TestTraits:
    @pytest.mark.parametrize(
        ("template", "traits"),
        [(IN_RESULTS, (True, True)), (WORDS_ONLY, (True, False)), (BLIND, (False, False))],
    )
    def test_templates_are_tried_with_images(self, template, traits):
        found = ChatTemplate(template, image="<|reserved_4|>").traits
        assert (found.images, found.images_in_results) == traits

    def test_without_eyes_nothing_is_shown(self):
        assert not ChatTemplate(IN_RESULTS).traits.images
