"""Models that are loaded, unloaded and pinned through the desk, with the kit's engine behind it."""

import asyncio

import pytest
from msgspec.structs import replace

from mlxp_core.desk import Desk
from mlxp_core.errors import Conflict, Unavailable, UnknownModel
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.client import SKETCH, SketchFrontend
from mlxp_core.testing.engine import ScriptedEngine
from mlxp_core.types import PluginSettings, ShelfRequest

MODELS = (SKETCH, replace(SKETCH, id="owner/other"))


def story(*asked, models=MODELS, aliases=None, stopped=False):
    """Ask a desk of its own, one after another; returns the answers."""

    async def tell():
        settings = load_settings(None, {}, {})
        registry = build_registry(load_plugins(PluginSettings(), path=()), settings)
        frontends = {info.id: SketchFrontend(info) for info in models}
        desk = Desk(ScriptedEngine([]), frontends, registry, settings, aliases=aliases)
        desk.start(asyncio.get_running_loop().call_soon)
        if stopped:
            desk.stop()
        try:
            return [
                await desk.answer(ShelfRequest(id=str(number), model=model, action=action))
                for number, (model, action) in enumerate(asked)
            ]
        finally:
            desk.stop()

    return asyncio.run(asyncio.wait_for(tell(), 10))


def test_a_model_is_unloaded_and_loaded_again():
    told = story(("owner/other", "unload"), ("owner/other", "load"))
    assert [(each.model, each.state.state, each.state.loads) for each in told] == [
        ("owner/other", "on disk", 1),
        ("owner/other", "loaded", 2),
    ]


def test_an_alias_will_do():
    (told,) = story(("fast", "pin"), aliases={"fast": "owner/other"})
    assert (told.model, told.state.pinned) == ("owner/other", True)


def test_what_the_engine_refuses_is_raised():
    with pytest.raises(Conflict, match="unpin it first"):
        story(("sketch", "pin"), ("sketch", "unload"))


@pytest.mark.parametrize("models", [MODELS, MODELS[:1]])
def test_a_name_that_is_not_on_offer_is_refused_even_where_there_is_one_model(models):
    with pytest.raises(UnknownModel, match="there are: sketch"):
        story(("gpt-4o", "unload"), models=models)


def test_a_server_that_stops_changes_nothing():
    with pytest.raises(Unavailable):
        story(("sketch", "unload"), stopped=True)
