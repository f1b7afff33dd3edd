"""Questions with one answer, with the kit's engine behind the desk."""

import asyncio
import math
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mlxp_core.desk import Desk
from mlxp_core.desk.embedding import shorten
from mlxp_core.desk.questions import answer_text, with_thinking
from mlxp_core.errors import BadRequest, Busy, ContextOverflow, EngineFault, Unavailable, UnknownModel
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.client import SKETCH, SketchFrontend
from mlxp_core.testing.engine import HOLD, ScriptedEngine
from mlxp_core.testing.vectors import DIMENSIONS, sketch_vector
from mlxp_core.types import (
    Capabilities,
    CountRequest,
    DetokenizeRequest,
    EmbedRequest,
    GenerateRequest,
    ImageBytes,
    Message,
    PluginSettings,
    Question,
    RenderRequest,
    Text,
    TokenizeRequest,
    ToolSpec,
)

HI = (Message("user", (Text("hi"),)),)
BATCH = 8
FRONTEND = SketchFrontend()


@asynccontextmanager
async def desk_with(script=(), *, models=(SKETCH,), flags=None, **more):
    settings = load_settings(None, {}, flags or {})
    registry = build_registry(load_plugins(PluginSettings(), path=()), settings)
    engine = ScriptedEngine(script, **more)
    desk = Desk(engine, {info.id: SketchFrontend(info) for info in models}, registry, settings)
    desk.start(asyncio.get_running_loop().call_soon)
    yield desk, engine
    desk.stop()


def ask(question, **more):
    """Ask a desk of its own."""

    async def story():
        async with desk_with(**more) as (desk, _):
            return await desk.answer(question)

    return asyncio.run(asyncio.wait_for(story(), 10))


async def held(engine, count):
    """Return when so many scripts hold; each turn of the loop is one of theirs."""
    for _ in iter(lambda: len(engine.holding) < count, False):
        await asyncio.sleep(0)


def play(story):
    asyncio.run(asyncio.wait_for(story(), 10))


def embed(*inputs, name="e", **more):
    return EmbedRequest(id=name, model="", inputs=inputs, **more)


def tokens_of(text):
    return FRONTEND.tokenizer.encode(text, special=True)


# ── Text ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_counted_and_rendered_is_what_would_be_read():
    tools = (ToolSpec("look", "Looks.", {"type": "object"}),)
    asked = {"id": "q", "model": "", "tools": tools, "thinking": False}
    prompt = FRONTEND.prepare(GenerateRequest(prompt=HI, **asked))
    rendered = ask(RenderRequest(messages=HI, **asked))
    assert rendered.tokens == prompt.tokens
    assert tuple(FRONTEND.tokenizer.encode(rendered.text)) == prompt.tokens
    assert "look" in rendered.text
    assert ask(CountRequest(messages=HI, **asked)).tokens == len(prompt.tokens)


@pytest.mark.parametrize(
    ("said", "usual", "then"),
    [(None, True, True), (None, None, None), (False, True, False), (True, None, True)],
)
def test_thinking_is_the_deployments_where_the_question_does_not_say(said, usual, then):
    question = RenderRequest(id="q", model="", messages=HI, thinking=said)
    assert with_thinking(question, usual) == replace(question, thinking=then)


@given(text=st.text(max_size=40))
def test_tokens_lead_back_to_their_text(text):
    tokenized = answer_text(TokenizeRequest(id="q", model="", text=text, special=False), FRONTEND)
    assert list(tokenized.tokens) == FRONTEND.tokenizer.encode(text)
    assert len(tokenized.pieces) == len(tokenized.tokens)
    back = answer_text(DetokenizeRequest(id="q", model="", tokens=tokenized.tokens), FRONTEND)
    assert (back.text, back.pieces) == (text, tokenized.pieces)


def test_special_tokens_can_be_left_out_both_ways():
    with_them, without = (
        ask(TokenizeRequest(id="q", model="", text="hi", special=special)).tokens for special in (True, False)
    )
    assert with_them[1:] == without
    shown, hidden = (
        ask(DetokenizeRequest(id="q", model="", tokens=with_them, special=special)).text
        for special in (True, False)
    )
    assert (shown, hidden) == ("<s>hi", "hi")


def test_an_unknown_token_is_refused_by_its_place():
    with pytest.raises(BadRequest, match=r"no token 384") as caught:
        ask(DetokenizeRequest(id="q", model="", tokens=(1, 384)))
    assert caught.value.param == "tokens[1]"


def test_a_conversation_is_checked_as_one_that_is_to_be_answered():
    seen = (Message("user", (ImageBytes(b"png"),)),)
    with pytest.raises(BadRequest, match="cannot see"):
        ask(CountRequest(id="q", model="", messages=seen))
    plain = replace(SKETCH, capabilities=Capabilities())
    with pytest.raises(BadRequest, match="no format for tool calls"):
        ask(CountRequest(id="q", model="", messages=HI, tools=(ToolSpec("look"),)), models=(plain,))


def test_the_model_is_chosen_and_named():
    both = (SKETCH, replace(SKETCH, id="other"))
    assert ask(CountRequest(id="q", model="other", messages=HI), models=both).model == "other"
    with pytest.raises(UnknownModel):
        ask(CountRequest(id="q", model="third", messages=HI), models=both)


def test_a_question_that_nobody_knows_is_a_fault_of_the_plugin():
    with pytest.raises(TypeError, match="Question"):
        ask(Question(id="q", model=""))


# ── Vectors ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_input_gets_its_vector_in_order_and_equal_ones_are_read_once():
    async def story():
        async with desk_with() as (desk, engine):
            answer = await desk.answer(embed("one", "two", "one", (5, 6)), protocol="test")
            expected = [tokens_of("one"), tokens_of("two"), tokens_of("one"), [5, 6]]
            assert list(answer.vectors) == [sketch_vector(tokens) for tokens in expected]
            assert answer.tokens == sum(map(len, expected))
            assert len(engine.orders) == 3
            assert {order.protocol for order in engine.orders} == {"test"}

    play(story)


def test_no_more_than_a_batch_of_inputs_is_in_the_house():
    async def story():
        most = 0

        def script(_):
            nonlocal most
            most = max(most, engine.stats().running)
            return ()

        async with desk_with(script, places=BATCH) as (desk, engine):
            answer = await desk.answer(embed(*(f"text {number}" for number in range(50))))
            assert len(answer.vectors) == 50
            assert len(engine.orders) == 50
            assert 0 < most <= BATCH

    play(story)


def test_a_full_house_is_waited_for_only_where_something_of_ours_will_end():
    async def story():
        async with desk_with((HOLD,), places=2) as (desk, engine):
            task = asyncio.create_task(desk.answer(embed("a", "b", "c")))
            await held(engine, 2)
            with pytest.raises(Busy):
                await desk.answer(embed("d", name="other"))
            engine.release()
            await held(engine, 1)
            engine.release()
            assert len((await task).vectors) == 3

    play(story)


def test_leaving_cancels_what_is_under_way_and_frees_the_id():
    async def story():
        async with desk_with((HOLD,)) as (desk, engine):
            task = asyncio.create_task(desk.answer(embed("a", "b")))
            await held(engine, 2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert engine.cancelled == ["e"]
            assert not desk.cancel("e")

    play(story)


def test_a_cancelled_request_says_so():
    async def story():
        async with desk_with((HOLD,)) as (desk, engine):
            task = asyncio.create_task(desk.answer(embed("a", "b")))
            await held(engine, 2)
            assert desk.cancel("e")
            with pytest.raises(Unavailable, match="cancelled"):
                await task

    play(story)


def test_draining_ends_a_request_that_takes_too_long():
    async def story():
        async with desk_with((HOLD,)) as (desk, engine):
            task = asyncio.create_task(desk.answer(embed("a")))
            await held(engine, 1)
            await desk.drain(0)
            with pytest.raises(Unavailable, match="cancelled"):
                await task
            with pytest.raises(Unavailable, match="stopping"):
                await desk.answer(embed("a"))

    play(story)


def test_a_failure_in_one_input_fails_the_request_as_what_it_is():
    with pytest.raises(EngineFault, match="the device is gone"):
        ask(embed("a", "b"), script=(EngineFault("the device is gone"),))


@pytest.mark.parametrize(
    ("question", "param", "told"),
    [
        (embed(), "inputs", "1 to 2048"),
        (embed(*["a"] * 2049), "inputs", "1 to 2048"),
        (embed(""), "inputs", "empty"),
        (embed("a", ""), "inputs[1]", "empty"),
        (embed("a", (384,)), "inputs[1]", "384"),
        (embed("a", dimensions=0), "dimensions", "at least 1"),
        (embed("a", dimensions=DIMENSIONS + 1), "dimensions", "have 8"),
    ],
)
def test_what_cannot_be_embedded_is_refused_by_name(question, param, told):
    with pytest.raises(BadRequest, match=told) as caught:
        ask(question)
    assert caught.value.param == param


def test_an_input_may_fill_the_context_and_no_more():
    full = (5,) * SKETCH.context
    assert ask(embed(full)).tokens == SKETCH.context
    with pytest.raises(ContextOverflow, match="cut it into parts"):
        ask(embed((5, *full)))


def test_a_model_that_makes_no_vectors_says_so():
    mute = replace(SKETCH, capabilities=Capabilities(embeddings=False))
    with pytest.raises(BadRequest, match="makes no embeddings") as caught:
        ask(embed("a"), models=(mute,))
    assert caught.value.param == "model"


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9).map(tuple), st.data())
def test_a_shortened_vector_points_the_same_way_and_has_length_one(vector, data):
    dimensions = data.draw(st.integers(1, len(vector)))
    short = shorten(vector, dimensions)
    assert len(short) == dimensions
    length = math.hypot(*vector[:dimensions])
    if dimensions < len(vector) and length > 1e-6:
        assert math.hypot(*short) == pytest.approx(1)
        assert [number * length for number in short] == pytest.approx(list(vector[:dimensions]), abs=1e-9)


# ── Several prompts ─────────────────────────────────────────────────────────────────────────────────────────────


def generate(**asked):
    return GenerateRequest(id="g", model="", max_tokens=2, **asked)


def test_several_prompts_become_orders_of_one_ticket():
    async def story():
        async with desk_with([ord("h")]) as (desk, engine):
            request = generate(prompt="one", further_prompts=((5, 6), "two"), choices=2, echo=True)
            events = [event async for event in (await desk.generate(request)).events()]
            assert [order.choice for order in engine.orders] == list(range(6))
            prompts = [tokens_of("one"), [5, 6], tokens_of("two")]
            assert [list(order.prompt.tokens) for order in engine.orders] == [
                prompt for prompt in prompts for _ in range(2)
            ]
            decoded = FRONTEND.tokenizer.decode([5, 6])
            echoes = {event.choice: event.echo for event in events if type(event).__name__ == "Started"}
            assert echoes == {0: "one", 1: "one", 2: decoded, 3: decoded, 4: "two", 5: "two"}

    play(story)


def test_a_conversation_is_not_echoed():
    async def story():
        async with desk_with() as (desk, _):
            with pytest.raises(BadRequest, match="not echoed"):
                await desk.generate(generate(prompt=HI, echo=True))

    play(story)


def test_prompts_times_choices_are_at_most_sixty_four():
    async def story():
        async with desk_with() as (desk, engine):
            with pytest.raises(BadRequest, match="may be 64, not 66"):
                await desk.generate(generate(prompt="a", further_prompts=("b",) * 32, choices=2))
            assert engine.orders == []

    play(story)
