from pathlib import Path
from types import SimpleNamespace

import click
import pluggy
import pytest
from msgspec import Struct

from mlxp_core import hookimpl
from mlxp_core.contracts import (
    ConstraintKind,
    ModelFamily,
    SamplerStage,
    SettingsSection,
    ThinkingFormat,
    ToolFormat,
    VisionTower,
    WireProtocol,
)
from mlxp_core.errors import BadRequest, PluginError
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.types import MeasuredSpeed, ModelChoice, Need, PluginSettings


def nothing(*_):
    raise AssertionError("building a registry must not call what plugins bring")


def family(name):
    return ModelFamily(
        name=name,
        model_types=(name,),
        config=nothing,
        build=nothing,
        rename=nothing,
        need=lambda *_: Need(weights=0),
    )


def thinking(name):
    return ThinkingFormat(name=name, open="<", close=">")


def protocol(name):
    return WireProtocol(name=name, endpoints=(), render_error=nothing)


def plugin(**hooks):
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def registry(*, skip_broken=False, **plugins):
    loaded = load_plugins(PluginSettings(skip_broken=skip_broken), extra=plugins.items(), path=())
    return build_registry(loaded, load_settings(None, {}, {}, loaded.sections))


def report(built, name):
    return next(each for each in built.reports() if each.name == name)


BRINGS = {
    "families": ("mlxp_model_families", family("x")),
    "tool_formats": ("mlxp_tool_formats", ToolFormat(name="x", openers=("<",), parser=nothing)),
    "thinking_formats": ("mlxp_thinking_formats", thinking("x")),
    "vision_towers": (
        "mlxp_vision_towers",
        VisionTower(name="x", config=nothing, preparer=nothing, build=nothing, rename=nothing),
    ),
    "protocols": ("mlxp_protocols", protocol("x")),
    "sampler_stages": ("mlxp_sampler_stages", SamplerStage(name="x", order=1, params=Struct, build=nothing)),
    "constraints": ("mlxp_constraints", ConstraintKind(name="x", compile=nothing)),
}


@pytest.mark.parametrize("kind", BRINGS)
def test_whatever_a_plugin_brings_is_found_under_its_name(kind):
    hook, thing = BRINGS[kind]
    built = registry(mine=plugin(**{hook: lambda: [thing]}))
    assert getattr(built, kind) == {"x": thing}
    assert report(built, "mine").brings == {kind: ("x",)}


@pytest.mark.parametrize("kind", BRINGS)
def test_two_of_one_kind_and_name_are_refused_naming_both(kind):
    hook, thing = BRINGS[kind]
    with pytest.raises(PluginError, match=r"one \(.*handed over.*\) and two \(.*\) both bring the .* 'x'"):
        registry(one=plugin(**{hook: lambda: [thing]}), two=plugin(**{hook: lambda: [thing]}))


def test_a_clash_names_both_distributions(site):
    source = """
    from mlxp_core import hookimpl
    from mlxp_core.contracts import ThinkingFormat

    @hookimpl
    def mlxp_thinking_formats():
        return [ThinkingFormat(name="x", open="<", close=">")]
    """
    site.add("mlxp-one", {"one": source})
    site.add("mlxp-two", {"two": source}, version="2.5")
    loaded = load_plugins(PluginSettings(), path=site.path)
    with pytest.raises(
        PluginError, match=r"mlxp-one 1\.0.* and .*mlxp-two 2\.5.*both bring the thinking format 'x'"
    ):
        build_registry(loaded, load_settings(None, {}, {}))


def test_one_name_in_two_kinds_is_no_clash():
    built = registry(
        mine=plugin(mlxp_model_families=lambda: [family("x")], mlxp_protocols=lambda: [protocol("x")])
    )
    assert list(built.families) == list(built.protocols) == ["x"]


def test_of_two_that_clash_and_are_skipped_neither_stays_and_others_do():
    built = registry(
        skip_broken=True,
        one=plugin(mlxp_model_families=lambda: [family("x"), family("y")]),
        two=plugin(mlxp_model_families=lambda: [family("x")]),
        three=plugin(mlxp_model_families=lambda: [family("z")]),
    )
    assert list(built.families) == ["z"]
    assert [report(built, name).state for name in ("one", "two", "three")] == ["broken", "broken", "on"]
    assert report(built, "one").brings == {}


WRONG = {
    "none": (
        lambda: None,
        "mlxp_model_families returned None; it must return a list or tuple of ModelFamily",
    ),
    "one": (lambda: family("x"), "returned a ModelFamily; it must return a list"),
    "text": (lambda: "x", "returned a str"),
    "generator": (lambda: (each for each in [family("x")]), "returned a generator"),
    "another type": (lambda: [family("x"), protocol("y")], "returned a WireProtocol at place 1"),
    "no name": (lambda: [family("")], "whose name is ''"),
    "a name of no text": (lambda: [family(3)], "whose name is 3"),
    "raises": (lambda: 1 / 0, "mlxp_model_families failed: ZeroDivisionError"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_is_refused_with_hook_and_reason(case):
    function, reason = WRONG[case]
    with pytest.raises(PluginError) as refused:
        registry(mine=plugin(mlxp_model_families=function))
    assert reason in refused.value.message
    assert "mine" in refused.value.message


@pytest.mark.parametrize("case", WRONG)
def test_a_plugin_with_a_wrong_answer_that_is_skipped_leaves_nothing_behind(case):
    function, _ = WRONG[case]
    calls = []
    built = registry(
        skip_broken=True,
        mine=plugin(
            mlxp_model_families=function,
            mlxp_protocols=lambda: [protocol("p")],
            mlxp_stopping=lambda: calls.append(1),
        ),
    )
    built.observers.stopping()
    assert not calls
    assert not built.protocols
    assert report(built, "mine").state == "broken"


def test_the_settings_reach_whoever_wants_them():
    seen = []
    built = registry(mine=plugin(mlxp_protocols=lambda settings: seen.append(settings) or []))
    assert seen == [built.settings]


def test_every_register_hook_is_asked_once_and_never_again(monkeypatch):
    calls = []
    built = registry(mine=plugin(mlxp_protocols=lambda: calls.append(1) or [protocol("p")]))
    with monkeypatch.context() as patch:
        patch.setattr(pluggy.HookCaller, "__call__", nothing)
        name = built.protocols["p"].name
        built.reports()
    assert (name, calls) == ("p", [1])


def test_the_mappings_cannot_be_changed():
    with pytest.raises(TypeError):
        registry().families["x"] = family("x")


def test_commands_are_brought_and_those_of_the_core_are_not_to_be_taken():
    assert registry(mine=plugin(mlxp_commands=lambda: [click.Command("lab")])).commands[0].name == "lab"
    with pytest.raises(PluginError, match="its command 'serve' has the name of one of the core's"):
        registry(mine=plugin(mlxp_commands=lambda: [click.Command("serve")]))


def test_who_wants_no_commands_asks_for_none():
    setup = load_plugins(PluginSettings(), extra=[("mine", plugin(mlxp_commands=nothing))], path=())
    built = build_registry(setup, load_settings(None, {}, {}), commands=False)
    assert built.commands == ()
    assert report(built, "mine").brings == {"hooks": ("mlxp_commands",)}


def test_hooks_that_bring_no_named_thing_are_reported_as_hooks():
    assert report(registry(), "folders").brings == {"hooks": ("mlxp_resolve_model",)}


def test_reports_are_in_name_order_and_count_faults():
    built = registry(b=plugin(mlxp_stopping=lambda: 1 / 0), a=plugin(mlxp_stopping=lambda: None))
    built.observers.stopping()
    assert [(each.name, each.faults) for each in built.reports()] == [("a", 0), ("b", 1), ("folders", 0)]


def test_load_time_is_import_and_register_hooks():
    ticks = iter([0.0, 0.25])
    loaded = load_plugins(
        PluginSettings(),
        extra=[("mine", plugin(mlxp_protocols=lambda: [protocol("p")]))],
        path=(),
        clock=lambda: 0.0,
    )
    built = build_registry(loaded, load_settings(None, {}, {}), clock=lambda: next(ticks))
    assert report(built, "mine").load_ms == 250


# ── Resolve ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_that_exists_is_itself_whatever_plugins_say(tmp_path):
    greedy = SimpleNamespace(mlxp_resolve_model=hookimpl(tryfirst=True)(lambda: Path("/elsewhere")))
    built = registry(greedy=greedy)
    assert built.resolve(str(tmp_path)) == tmp_path
    assert built.resolve("demo") == Path("/elsewhere")


def test_the_first_answer_wins_and_none_passes_on():
    built = registry(
        a=plugin(mlxp_resolve_model=lambda: None),
        b=plugin(mlxp_resolve_model=lambda ref: Path("/b") / ref),
        c=plugin(mlxp_resolve_model=nothing),
    )
    assert built.resolve("x") == Path("/b/x")


def test_what_nobody_knows_is_none():
    assert registry().resolve("owner/nowhere") is None


def test_a_resolver_that_fails_is_named():
    with pytest.raises(PluginError, match=r"plugin bad, asked for the model 'x': .*ZeroDivisionError"):
        registry(bad=plugin(mlxp_resolve_model=lambda: 1 / 0)).resolve("x")


def test_a_resolver_that_refuses_on_purpose_is_heard():
    def refuse():
        raise BadRequest("the download was refused")

    with pytest.raises(BadRequest, match="the download was refused"):
        registry(hub=plugin(mlxp_resolve_model=refuse)).resolve("x")


def test_a_resolver_that_answers_with_text_is_named():
    with pytest.raises(
        PluginError, match="plugin bad, asked for the model 'x', answered a str; it must be a Path"
    ):
        registry(bad=plugin(mlxp_resolve_model=lambda: "/x")).resolve("x")


# ── Routes ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_routes_are_gathered_with_the_services():
    built = registry(a=plugin(mlxp_routes=lambda services: [services]), b=plugin(mlxp_routes=lambda: ["b"]))
    assert built.routes("services") == ("services", "b")


def test_routes_that_fail_stop_the_start():
    with pytest.raises(PluginError, match="plugin bad: mlxp_routes returned None"):
        registry(bad=plugin(mlxp_routes=lambda: None)).routes("services")


def test_routes_that_fail_and_are_skipped_are_left_out_and_counted():
    built = registry(
        skip_broken=True, bad=plugin(mlxp_routes=lambda: 1 / 0), good=plugin(mlxp_routes=lambda: ["page"])
    )
    assert built.routes("services") == ("page",)
    assert report(built, "bad").faults == 1


# ── Sections ────────────────────────────────────────────────────────────────────────────────────────────────────


class Lab(Struct, frozen=True):
    jobs: int = 1


def declaring(name, kind=Lab):
    return plugin(mlxp_settings_sections=lambda: [SettingsSection(name=name, type=kind, summary="Jobs.")])


@pytest.mark.parametrize("name", ["lab", "lab-queue"])
def test_a_declared_section_is_decoded(name):
    assert registry(lab=declaring(name)).settings.section(Lab) == Lab()


@pytest.mark.parametrize(
    ("owner", "name", "kind", "reason"),
    [
        ("lab", "jobs", Lab, "its section must be called 'lab'"),
        ("server", "server", Lab, "belongs to the core"),
        ("lab", "lab", dict, "is no msgspec.Struct"),
    ],
)
def test_a_section_that_cannot_be_is_refused(owner, name, kind, reason):
    with pytest.raises(PluginError, match=reason):
        registry(**{owner: declaring(name, kind)})


def test_two_sections_of_one_name_or_one_type_are_refused():
    with pytest.raises(PluginError, match="both bring the settings section 'lab-a'"):
        registry(**{"lab": declaring("lab-a"), "lab-a": declaring("lab-a")})
    with pytest.raises(PluginError, match="both bring the settings type 'Lab'"):
        registry(lab=declaring("lab"), other=declaring("other"))


def test_the_first_plugin_with_a_model_to_serve_chooses_it():
    choice = ModelChoice(path=Path("/b"), why="it is there")
    asked = []
    built = registry(
        a=plugin(mlxp_default_model=lambda: None),
        b=plugin(mlxp_default_model=lambda appraise: asked.append(appraise) or choice),
        c=plugin(mlxp_default_model=nothing),
    )
    assert built.default_model(nothing) is choice
    assert asked == [nothing]


def test_without_a_plugin_there_is_no_model_to_serve():
    assert registry().default_model(nothing) is None


def test_a_choice_of_another_type_names_its_plugin():
    built = registry(a=plugin(mlxp_default_model=lambda: Path("/a")))
    with pytest.raises(PluginError, match=r"plugin a, asked for a model to serve, .* must be a ModelChoice"):
        built.default_model(nothing)


SPEED = MeasuredSpeed(decode_tps=30.0, prefill_tps=900.0, measured_at=1)


def test_the_first_who_has_measured_a_model_tells_its_speed_and_who_fails_is_passed_over():
    def broken(model):
        raise ZeroDivisionError

    built = registry(
        a=plugin(mlxp_measured_speed=lambda model: SPEED if model == Path("/m") else None),
        b=plugin(mlxp_measured_speed=broken),
        c=plugin(mlxp_measured_speed=lambda: None),
        d=plugin(mlxp_measured_speed=lambda: "fast"),
    )
    assert built.measured_speed(Path("/m")) == SPEED
    assert built.measured_speed(Path("/other")) is None
    assert {report.name: report.faults for report in built.reports()}["b"] == 1
