"""Adapters at the desk, with the kit's engine behind it: what may be mounted, from where, and who may name it."""

import asyncio
import json
import struct
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mlxp_core.desk import Desk, own_root
from mlxp_core.desk.adapter_names import check_id, inside, split_mounts
from mlxp_core.errors import BadAdapter, BadRequest, Conflict, SettingsError, Unavailable, UnknownAdapter
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.client import SKETCH, SketchFrontend
from mlxp_core.testing.engine import HOLD, ScriptedEngine
from mlxp_core.types import (
    FindAdapters,
    Finished,
    GenerateRequest,
    MountRequest,
    PluginSettings,
    UnmountRequest,
)


def write_adapter(folder, *, base=None, shape=(4, 2)):
    """Write an adapter of one module without any array library."""
    folder.mkdir(parents=True, exist_ok=True)
    header, data = {}, b""
    for half, dims in (("a", shape), ("b", (shape[1], 3))):
        numbers = b"\0" * 4 * dims[0] * dims[1]
        span = [len(data), len(data) + len(numbers)]
        header[f"model.up.lora_{half}"] = {"dtype": "F32", "shape": list(dims), "data_offsets": span}
        data += numbers
    text = json.dumps(header).encode()
    (folder / "adapters.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    config = {"lora_parameters": {"rank": shape[1], "scale": 3.0}, "model": base}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def root(tmp_path):
    """Return an adapter root with two adapters."""
    for name in ("fr", "py"):
        write_adapter(tmp_path / "root" / name)
    return tmp_path / "root"


@asynccontextmanager
async def desk_with(root=None, *, script=(), models=(SKETCH,), **flags):
    settings = load_settings(None, {}, flags)
    registry = build_registry(load_plugins(PluginSettings(), path=()), settings)
    engine = ScriptedEngine(script)
    frontends = {info.id: SketchFrontend(info) for info in models}
    desk = Desk(engine, frontends, registry, settings, adapter_roots=() if root is None else (root,))
    desk.start(asyncio.get_running_loop().call_soon)
    yield desk, engine
    desk.stop()


def play(story):
    return asyncio.run(asyncio.wait_for(story(), 10))


async def until(condition):
    """Return when something is the case; whatever brings it about has its turns meanwhile."""
    for _ in iter(condition, True):
        await asyncio.sleep(0)


def mount(name, path, model=""):
    return MountRequest(id=f"m-{name}", model=model, adapter=name, path=str(path))


def unmount(name):
    return UnmountRequest(id=f"u-{name}", model="", adapter=name)


def ask(name="r", adapters=None, model="", length=3):
    return GenerateRequest(id=name, model=model, prompt="hi", adapters=adapters, max_tokens=length)


# ── Mounting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_mounted_adapter_is_on_offer_until_it_is_unmounted(root):
    async def story():
        async with desk_with(root) as (desk, engine):
            told = (await desk.answer(mount("french", root / "fr"))).adapter
            assert (told.id, told.path, told.model) == ("french", root / "fr", "sketch")
            assert (told.rank, told.scale, told.modules, told.warnings) == (2, 3.0, 1, ())
            assert desk.catalogue().adapters == (told,)
            assert engine.mounted == [told.key]
            assert (await desk.answer(unmount("french"))).adapter == told
            assert (desk.catalogue().adapters, engine.mounted) == ((), [])
            with pytest.raises(UnknownAdapter, match="'french' is not mounted; mounted: none"):
                await desk.answer(unmount("french"))

    play(story)


def test_the_same_again_changes_nothing_and_another_is_a_conflict(root):
    async def story():
        async with desk_with(root) as (desk, engine):
            first = await desk.answer(mount("a", root / "fr"))
            assert await desk.answer(mount("a", "fr")) == first
            with pytest.raises(Conflict, match=r"'a' is mounted from .*fr on sketch"):
                await desk.answer(mount("a", root / "py"))
            assert len(engine.mounted) == 1

    play(story)


def test_two_at_once_are_one_mount_or_a_conflict(root):
    async def story():
        async with desk_with(root) as (desk, engine):
            same, again, other = await asyncio.gather(
                desk.answer(mount("a", "fr")),
                desk.answer(mount("a", "fr")),
                desk.answer(mount("a", "py")),
                return_exceptions=True,
            )
            assert same == again
            assert isinstance(other, Conflict)
            assert len(engine.mounted) == 1

    play(story)


def test_whoever_leaves_while_it_is_mounted_leaves_it_mounted(root):
    async def story():
        async with desk_with(root) as (desk, engine):
            waiting = asyncio.create_task(desk.answer(mount("a", "fr")))
            await until(lambda: bool(engine.mounted))
            waiting.cancel()
            await until(lambda: bool(desk.catalogue().adapters))
            assert [adapter.id for adapter in desk.catalogue().adapters] == ["a"]

    play(story)


def test_a_mount_never_has_the_key_of_another(root):
    async def story():
        async with desk_with(root) as (desk, _):
            keys = set()
            for _ in range(3):
                keys.add((await desk.answer(mount("a", "fr"))).adapter.key)
                await desk.answer(unmount("a"))
            assert len(keys) == 3

    play(story)


def test_another_base_is_warned_about(tmp_path):
    async def story():
        for name, base in (("same", "org/Sketch-4bit"), ("other", "org/portrait")):
            write_adapter(tmp_path / name, base=base)
        async with desk_with(tmp_path) as (desk, _):
            assert (await desk.answer(mount("a", "same"))).adapter.warnings == ()
            (warning,) = (await desk.answer(mount("b", "other"))).adapter.warnings
            assert warning == "it was trained on org/portrait, and is mounted on sketch"

    play(story)


def test_a_folder_that_is_no_adapter_is_refused(root):
    async def story():
        (root / "empty").mkdir()
        async with desk_with(root) as (desk, engine):
            with pytest.raises(BadAdapter, match=r"empty: no adapter_config\.json"):
                await desk.answer(mount("a", "empty"))
            assert engine.mounted == []
            assert (await desk.answer(mount("a", "fr"))).adapter.id == "a"

    play(story)


def test_an_engine_that_is_gone_mounts_nothing(root):
    async def story():
        async with desk_with(root) as (desk, engine):
            engine.lose("struck by lightning")
            with pytest.raises(Unavailable):
                await desk.answer(mount("a", "fr"))
            assert desk.catalogue().adapters == ()

    play(story)


# ── Where they lie, what they are called ────────────────────────────────────────────────────────────────────────────


def test_only_folders_in_the_roots_can_be_mounted_links_followed(root, tmp_path):
    outside = write_adapter(tmp_path / "elsewhere")
    (root / "link").symlink_to(outside)
    for path in (outside, "link", "../elsewhere", str(root / ".." / "elsewhere"), "~"):
        with pytest.raises(BadRequest, match="lies in no adapter root") as refused:
            inside(str(path), (root,))
        assert refused.value.param == "path"
    assert inside("fr", (tmp_path / "absent", root)) == root / "fr"
    assert inside(str(root / "fr" / ".." / "py"), (root,)) == root / "py"
    with pytest.raises(BadRequest, match="adapter folder not found: 'absent'"):
        inside("absent", (root,))
    with pytest.raises(BadRequest, match="lies in no adapter root"):
        inside("fr", ())
    with pytest.raises(BadRequest, match="no path of this machine"):
        inside("a\0b", (root,))


@pytest.mark.parametrize("name", ["a", "Françis.v2:x@1-b_c", "7"])
def test_ids_are_words(name):
    check_id(name)


@pytest.mark.parametrize("name", ["", "a+b", "a,b", "a b", "a/b", "none", "None", "x" * 129, "a\n"])
def test_ids_that_requests_could_not_name_are_refused(name):
    with pytest.raises(BadRequest) as refused:
        check_id(name)
    assert refused.value.param == "adapter"


def test_the_users_own_root_is_where_the_platform_keeps_data():
    home = Path("/home/x")
    assert own_root({}, home, "linux") == home / ".local/share/mlxp/adapters"
    assert own_root({}, home, "darwin") == home / "Library/Application Support/mlxp/adapters"
    assert own_root({"XDG_DATA_HOME": "/data"}, home, "linux") == Path("/data/mlxp/adapters")


# ── At the start ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_adapters_of_the_settings_are_mounted_first_and_their_folders_are_roots(root):
    async def story():
        flags = {"adapters": {"mount": (f"french={root / 'fr'}", f"py={root / 'py'}")}}
        async with desk_with(**flags) as (desk, engine):
            assert len(engine.mounted) == 2
            await until(lambda: len(desk.catalogue().adapters) == 2)
            await desk.answer(unmount("french"))
            assert (await desk.answer(mount("again", root / "fr"))).adapter.id == "again"

    play(story)


def test_settings_may_name_roots(root):
    async def story():
        async with desk_with(adapters={"roots": (str(root),)}) as (desk, _):
            assert (await desk.answer(mount("a", "fr"))).adapter.id == "a"

    play(story)


@pytest.mark.parametrize(
    ("mounts", "told"),
    [
        (["french"], "'french' must be ID=FOLDER"),
        (["=x"], "cannot be called ''"),
        (["a="], "must be ID=FOLDER"),
        (["none=x"], "'none'"),
        (["a=x", "a=y"], "two adapters are called 'a'"),
    ],
)
def test_settings_that_are_no_adapters_are_refused(mounts, told):
    with pytest.raises(SettingsError, match=told):
        split_mounts(mounts)


def test_usual_adapters_are_ones_of_the_start():
    async def story():
        async with desk_with(generation={"adapters": ("fr",)}):
            pass

    with pytest.raises(SettingsError, match="'fr' is none of"):
        play(story)


def test_an_adapter_of_the_settings_that_is_missing_is_said_at_once(tmp_path):
    async def story():
        async with desk_with(adapters={"mount": (f"a={tmp_path / 'absent'}",)}):
            pass

    with pytest.raises(BadAdapter, match="adapter folder not found"):
        play(story)


# ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_adapters_on_disk_are_those_of_the_roots_that_go_with_the_model(root, tmp_path):
    async def story():
        write_adapter(root / "mine", base="/x/models--Org--Sketch/snapshots/1")
        write_adapter(root / "foreign", base="org/portrait")
        broken = write_adapter(root / "broken")
        (broken / "adapter_config.json").write_text("{")
        (root / "notes.txt").write_text("no adapter")
        single = write_adapter(tmp_path / "single")
        async with desk_with(root, adapters={"roots": (str(single),)}) as (desk, _):
            await desk.answer(mount("x", "fr"))
            found = (await desk.answer(FindAdapters(id="f", model=""))).adapters
            shown = [(each.id, each.rank, each.scale, each.base_model, each.mounted) for each in found]
            assert shown == [
                ("broken", None, 1.0, None, False),
                ("fr", 2, 3.0, None, True),
                ("mine", 2, 3.0, "Org/Sketch", False),
                ("py", 2, 3.0, None, False),
                ("single", 2, 3.0, None, False),
            ]
            assert found[-1].path == single

    play(story)


# ── Requests ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_orders_carry_the_keys_of_the_mounts_that_a_request_names(root):
    async def story():
        async with desk_with(root) as (desk, engine):
            keys = {name: (await desk.answer(mount(name, name))).adapter.key for name in ("fr", "py")}
            await desk.generate(ask("one", ("py", "fr")))
            await desk.generate(ask("two"))
            assert [order.adapters for order in engine.orders] == [(keys["py"], keys["fr"]), ()]
            assert [order.request.adapters for order in engine.orders] == [("py", "fr"), ()]

    play(story)


def test_what_the_deployment_says_holds_for_those_who_say_nothing(root):
    async def story():
        flags = {"adapters": {"mount": (f"fr={root / 'fr'}",)}, "generation": {"adapters": ("fr",)}}
        async with desk_with(**flags) as (desk, engine):
            await until(lambda: bool(desk.catalogue().adapters))
            await desk.generate(ask("says nothing"))
            await desk.generate(ask("says none", ()))
            assert [order.request.adapters for order in engine.orders] == [("fr",), ()]

    play(story)


def test_what_is_not_mounted_or_named_twice_is_refused(root):
    async def story():
        async with desk_with(root) as (desk, _):
            await desk.answer(mount("fr", "fr"))
            with pytest.raises(BadRequest, match="unknown adapter 'py'; mounted: fr"):
                await desk.generate(ask(adapters=("fr", "py")))
            with pytest.raises(BadRequest, match="named twice"):
                await desk.generate(ask(adapters=("fr", "fr")))

    play(story)


def test_a_request_that_runs_is_not_hurt_by_an_unmount(root):
    async def story():
        async with desk_with(root, script=[HOLD, 40, 41, 42]) as (desk, engine):
            await desk.answer(mount("fr", "fr"))
            ticket = await desk.generate(ask(adapters=("fr",)))
            await desk.answer(unmount("fr"))
            with pytest.raises(BadRequest, match="unknown adapter"):
                await desk.generate(ask("later", ("fr",)))
            await until(lambda: bool(engine.holding))
            engine.release()
            assert isinstance([event async for event in ticket.events()][-1], Finished)

    play(story)
