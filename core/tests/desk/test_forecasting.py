"""What is told of the tokens after a prompt, with the kit's engine behind the desk."""

import asyncio
import math
from contextlib import asynccontextmanager

import pytest

from mlxp_core.desk import Desk
from mlxp_core.errors import BadRequest, EngineFault, Unavailable
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.client import SKETCH, SketchFrontend
from mlxp_core.testing.engine import HOLD, ScriptedEngine
from mlxp_core.testing.vectors import HALVINGS
from mlxp_core.types import ForecastRequest, Message, PluginSettings, Text

FRONTEND = SketchFrontend()


@asynccontextmanager
async def desk_with(script=()):
    settings = load_settings(None, {}, {})
    registry = build_registry(load_plugins(PluginSettings(), path=()), settings)
    engine = ScriptedEngine(script)
    desk = Desk(engine, {SKETCH.id: FRONTEND}, registry, settings)
    desk.start(asyncio.get_running_loop().call_soon)
    yield desk, engine
    desk.stop()


def question(prompt="hi", **more):
    return ForecastRequest(**{"id": "f", "model": "", "prompt": prompt, "bins": 10, "lowest": -20.0, **more})


def play(story):
    return asyncio.run(asyncio.wait_for(story(), 10))


async def until(condition):
    """Wait for it; each turn of the loop is one of the engine's."""
    for _ in iter(lambda: bool(condition()), True):
        await asyncio.sleep(0)


def ask(asked, script=()):
    async def story():
        async with desk_with(script) as (desk, _):
            return await desk.answer(asked)

    return play(story)


def test_numbers_are_taken_apart():
    told = ask(question("hi", likeliest=3))
    tokens = FRONTEND.tokenizer.encode("hi", special=True)
    assert told.model == SKETCH.id
    assert told.tokens == len(tokens)
    assert sum(told.counts) == HALVINGS
    assert len(told.counts) == 10
    assert [each.token for each in told.likeliest] == [tokens[-1], tokens[-1] + 1, tokens[-1] + 2]
    assert told.likeliest[0].text == "i"
    assert told.likeliest[0].logprob == -math.log(2)


def test_a_conversation_is_read_as_an_answer_would_have_it_read():
    async def story():
        async with desk_with() as (desk, engine):
            await desk.answer(question((Message("user", (Text("hi"),)),), thinking=False))
            (order,) = engine.orders
            return order

    order = play(story)
    assert order.prompt == FRONTEND.prepare(order.request)
    assert len(order.prompt.tokens) > 2


def test_nothing_named_is_nothing_told():
    assert ask(question()).likeliest == ()


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"bins": 0}, "bins"),
        ({"bins": 1001}, "bins"),
        ({"likeliest": -1}, "likeliest"),
        ({"likeliest": 101}, "likeliest"),
        ({"lowest": 0.0}, "lowest"),
        ({"lowest": math.nan}, "lowest"),
        ({"adapters": ("nobody",)}, "adapters"),
    ],
)
def test_what_cannot_be_told_is_refused(wrong, param):
    with pytest.raises(BadRequest) as caught:
        ask(question(**wrong))
    assert caught.value.param == param


def test_a_fault_of_the_engine_is_told():
    with pytest.raises(EngineFault, match="it broke"):
        ask(question(), [EngineFault("it broke")])


def test_who_leaves_takes_the_work_along():
    async def story():
        async with desk_with([HOLD]) as (desk, engine):
            waiting = asyncio.ensure_future(desk.answer(question()))
            await until(lambda: engine.holding)
            assert desk.running("f") is not None
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert engine.cancelled == ["f"]
            await until(lambda: desk.running("f") is None)

    play(story)


def test_cancelled_by_another_it_is_unavailable():
    async def story():
        async with desk_with([HOLD]) as (desk, engine):
            waiting = asyncio.ensure_future(desk.answer(question()))
            await until(lambda: engine.holding)
            assert desk.cancel("f")
            with pytest.raises(Unavailable):
                await waiting

    play(story)
