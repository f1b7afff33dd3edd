"""From a request to a ticket, with the kit's engine behind the desk."""

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest

from mlxp_core.desk import Desk
from mlxp_core.errors import BadRequest, Busy, ContextOverflow, Unavailable, UnknownModel
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.client import SKETCH, SketchFrontend
from mlxp_core.testing.engine import HOLD, ScriptedEngine
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.types import EmbedRequest, Finished, GenerateRequest, PluginSettings, Sampling, Started

LETTERS = [ord("h"), ord("i")]


@asynccontextmanager
async def desk_with(script, *, models=(SKETCH,), flags=None, **more):
    settings = load_settings(None, {}, flags or {})
    registry = build_registry(load_plugins(PluginSettings(), path=()), settings)
    engine = ScriptedEngine(script, **{"places": 4, **more})
    frontends = {info.id: SketchFrontend(info) for info in models}
    desk = Desk(engine, frontends, registry, settings, aliases={"small": "b"}, draw_seed=lambda: 40)
    desk.start(asyncio.get_running_loop().call_soon)
    yield desk, engine
    desk.stop()


def request(name="r", **fields):
    return GenerateRequest(id=name, model="m", **{"prompt": "hello", "max_tokens": 2, **fields})


async def read(ticket):
    return [event async for event in ticket.events()]


def other(name):
    return msgspec.structs.replace(SKETCH, id=name)


def play(story):
    asyncio.run(asyncio.wait_for(story(), 10))


def test_its_models_are_found_by_name_and_alias_and_no_others():
    async def story():
        async with desk_with(LETTERS, models=(SKETCH, other("b"))) as (desk, _):
            assert (
                desk.models.find(SKETCH.id)
                == desk.models.find("b")
                == desk.models.find("small")
                == SKETCH.path
            )
            with pytest.raises(UnknownModel):
                desk.models.find("c")

    play(story)


def test_choices_become_orders_and_end_as_one_ticket():
    async def story():
        async with desk_with(LETTERS) as (desk, engine):
            events = await read(await desk.generate(request(choices=3), protocol="test"))
            check_grammar(events, choices=3)
            assert [order.choice for order in engine.orders] == [0, 1, 2]
            assert {order.protocol for order in engine.orders} == {"test"}
            assert sorted(event.seed for event in events if isinstance(event, Started)) == [40, 41, 42]

    play(story)


def test_orders_are_resolved():
    async def story():
        async with desk_with(LETTERS) as (desk, engine):
            await read(await desk.generate(request(max_tokens=None)))
            order = engine.orders[0].request
            assert order.model == "sketch"
            assert order.sampling.temperature == 0.7
            assert order.max_tokens == SKETCH.context - len(engine.orders[0].prompt.tokens)

    play(story)


def test_what_does_not_fit_the_context_is_refused_before_the_engine_hears_of_it():
    async def story():
        async with desk_with(LETTERS) as (desk, engine):
            with pytest.raises(ContextOverflow, match="ask for at most"):
                await desk.generate(request(max_tokens=SKETCH.context))
            with pytest.raises(ContextOverflow, match="shorten the prompt"):
                await desk.generate(request(prompt="x" * 2000, max_tokens=None))
            assert engine.orders == []

    play(story)


def test_of_several_models_the_name_decides():
    async def story():
        async with desk_with(LETTERS, models=(other("a"), other("b"))) as (desk, engine):
            await read(await desk.generate(msgspec.structs.replace(request(), model="small")))
            assert engine.orders[0].model == "b"
            with pytest.raises(UnknownModel):
                await desk.generate(request())

    play(story)


def test_a_running_request_can_be_cancelled_by_its_id():
    async def story():
        async with desk_with([HOLD]) as (desk, engine):
            ticket = await desk.generate(request())
            assert desk.cancel("r")
            assert isinstance((await read(ticket))[-1], Finished)
            assert engine.cancelled == ["r"]
            assert not desk.cancel("r")

    play(story)


def test_a_running_request_is_shown_until_it_ends():
    async def story():
        async with desk_with([HOLD]) as (desk, _):
            ticket = await desk.generate(request(choices=2), protocol="test")
            shown = desk.running("r")
            assert (shown.id, shown.protocol, shown.model) == ("r", "test", "sketch")
            assert shown.age_s >= 0
            assert [choice.state for choice in shown.choices] == ["waiting", "waiting"]
            ticket.cancel()
            await read(ticket)
            assert desk.running("r") is None

    play(story)


def test_inputs_being_embedded_are_shown_too():
    async def story():
        async with desk_with([HOLD]) as (desk, engine):
            asked = asyncio.create_task(
                desk.answer(EmbedRequest(id="e", model="", inputs=("a", "b", "a")), protocol="test")
            )
            while not engine.holding:  # noqa: ASYNC110  # its turns are the loop's own
                await asyncio.sleep(0)
            assert [choice.state for choice in desk.running("e").choices] == ["waiting", "waiting"]
            engine.release()
            await asked
            assert desk.running("e") is None

    play(story)


def test_an_id_cannot_run_twice_at_once_but_again():
    async def story():
        async with desk_with([HOLD]) as (desk, _):
            ticket = await desk.generate(request())
            with pytest.raises(BadRequest, match="unique"):
                await desk.generate(request())
            ticket.cancel()
            await read(ticket)
            (await desk.generate(request())).cancel()

    play(story)


def test_a_refused_request_leaves_nothing_behind():
    async def story():
        async with desk_with([HOLD], places=1) as (desk, engine):
            first = await desk.generate(request("one"))
            with pytest.raises(Busy):
                await desk.generate(request("two"))
            first.cancel()
            await read(first)
            second = await desk.generate(request("two"))
            assert not second.ended
            assert len(engine.orders) == 2

    play(story)


def test_wrong_sampler_settings_are_refused():
    async def story():
        async with desk_with(LETTERS) as (desk, _):
            with pytest.raises(BadRequest, match="nothere"):
                await desk.generate(request(sampling=Sampling(stages={"nothere": msgspec.Raw(b"{}")})))

    play(story)


def test_draining_waits_for_what_runs_and_takes_nothing_new():
    async def story():
        async with desk_with([HOLD, *LETTERS]) as (desk, engine):
            ticket = await desk.generate(request())
            draining = asyncio.create_task(desk.drain(60))
            await asyncio.sleep(0)
            with pytest.raises(Unavailable):
                await desk.generate(request("late"))
            assert desk.stats().state == "stopping"
            engine.release()
            await draining
            assert ticket.ended
            assert engine.cancelled == []

    play(story)


def test_draining_cancels_what_outlives_the_grace():
    async def story():
        async with desk_with([HOLD]) as (desk, engine):
            ticket = await desk.generate(request())
            await desk.drain(0.01)
            assert (await read(ticket))[-1].reason == "cancelled"
            assert engine.cancelled == ["r"]

    play(story)
