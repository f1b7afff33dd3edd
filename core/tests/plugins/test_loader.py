import sys
from types import SimpleNamespace

import pytest

from mlxp_core import hookimpl
from mlxp_core.errors import PluginError, SettingsError
from mlxp_core.plugins import load_plugins
from mlxp_core.types import PluginSettings

GOOD = """
from mlxp_core import hookimpl

@hookimpl
def mlxp_stopping():
    pass
"""
SKIP = PluginSettings(skip_broken=True)


def plugin(**hooks):
    """A plugin made of functions."""
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def by_name(plugins):
    return {each.name: each for each in plugins.found}


def test_an_installed_plugin_is_registered(site):
    site.add("mlxp-good", {"good": GOOD})
    plugins = load_plugins(PluginSettings(), path=site.path)
    assert by_name(plugins)["good"].state == "on"
    assert plugins.manager.has_plugin("good")


@pytest.mark.parametrize("settings", [PluginSettings(disable=("loud",)), PluginSettings(only=("good",))])
def test_what_is_switched_off_is_never_imported(site, settings):
    site.add("mlxp-good", {"good": GOOD})
    site.add("mlxp-loud", {"loud": "raise AssertionError('imported')"})
    plugins = load_plugins(settings, path=site.path)
    assert by_name(plugins)["loud"].state == "off"
    assert "mlxp_loud_loud" not in sys.modules
    assert plugins.absent >= {"loud"}


def test_disabling_wins_over_only(site):
    site.add("mlxp-good", {"good": GOOD})
    plugins = load_plugins(PluginSettings(only=("good",), disable=("good",)), path=site.path)
    assert by_name(plugins)["good"].state == "off"


def test_only_leaves_the_built_in_ones_on_and_disabling_does_not(site):
    site.add("mlxp-good", {"good": GOOD})
    assert by_name(load_plugins(PluginSettings(only=("good",)), path=site.path))["folders"].state == "on"
    assert by_name(load_plugins(PluginSettings(disable=("folders",)), path=()))["folders"].state == "off"


@pytest.mark.parametrize("settings", [PluginSettings(disable=("goood",)), PluginSettings(only=("goood",))])
def test_naming_what_is_not_installed_is_an_error_with_a_suggestion(site, settings):
    site.add("mlxp-good", {"good": GOOD})
    with pytest.raises(SettingsError, match=r"'goood', which is not installed; did you mean 'good'\?"):
        load_plugins(settings, path=site.path)


def test_a_doubled_name_is_refused_with_both_distributions_named(site):
    site.add("mlxp-one", {"twin": GOOD})
    site.add("mlxp-two", {"twin": GOOD}, version="3.1")
    with pytest.raises(PluginError, match=r"mlxp-one 1\.0 and mlxp-two 3\.1 both have a plugin 'twin'"):
        load_plugins(PluginSettings(), path=site.path)


def test_of_doubles_that_are_skipped_neither_is_imported(site):
    site.add("mlxp-one", {"twin": GOOD})
    site.add("mlxp-two", {"twin": GOOD})
    plugins = load_plugins(SKIP, path=site.path)
    assert [each.state for each in plugins.found if each.name == "twin"] == ["broken", "broken"]
    assert not {"mlxp_one_twin", "mlxp_two_twin"} & set(sys.modules)


def test_doubles_that_are_switched_off_are_nobodys_concern(site):
    site.add("mlxp-one", {"twin": GOOD})
    site.add("mlxp-two", {"twin": GOOD})
    load_plugins(PluginSettings(disable=("twin",)), path=site.path)


BROKEN = {
    "missing import": ("import a_module_that_is_nowhere", "ModuleNotFoundError"),
    "raises": ("raise ValueError('no licence')", "ValueError: no licence"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "syntax": ("def f(:", "SyntaxError"),
    "raises when looked at": (
        "def __getattr__(name): raise ImportError('lazy')",
        "looking at it failed: ImportError: lazy",
    ),
    "wrong argument": (
        "from mlxp_core import hookimpl\n@hookimpl\ndef mlxp_model_families(setings): return []",
        "mlxp_model_families has no argument 'setings'; did you mean 'settings'?",
    ),
    "argument with a default": (
        "from mlxp_core import hookimpl\n@hookimpl\ndef mlxp_model_families(settings=None): return []",
        "drop the default",
    ),
    "unknown hook": (
        "from mlxp_core import hookimpl\n@hookimpl\ndef mlxp_model_family(): return []",
        "mlxp_model_family is no hook; did you mean 'mlxp_model_families'?",
    ),
    "async hook": (
        "from mlxp_core import hookimpl\n@hookimpl\nasync def mlxp_stopping(): pass",
        "never awaited",
    ),
    "wrapper": (
        "from mlxp_core import hookimpl\n@hookimpl(wrapper=True)\ndef mlxp_stopping(): yield",
        "plain functions only",
    ),
    "adding hookspecs": (
        "from mlxp_core import hookimpl\n@hookimpl\ndef mlxp_add_hookspecs(manager): manager.add_hookspecs(object())",
        "mlxp_add_hookspecs failed: ValueError",
    ),
    "sections": (
        "from mlxp_core import hookimpl\n@hookimpl\ndef mlxp_settings_sections(): return None",
        "mlxp_settings_sections returned None",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_stops_the_start_with_plugin_module_distribution_and_reason(site, case):
    source, reason = BROKEN[case]
    site.add("mlxp-bad", {"bad": source})
    with pytest.raises(PluginError) as refused:
        load_plugins(PluginSettings(), path=site.path)
    said = refused.value.message
    assert "bad (mlxp_bad_bad, mlxp-bad 1.0): " in said
    assert reason in said
    assert "--skip-broken" in said


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_that_is_skipped_leaves_nothing_behind_and_harms_nobody(site, case):
    source, reason = BROKEN[case]
    site.add("mlxp-bad", {"bad": f"{source}\n"})
    site.add("mlxp-good", {"good": GOOD})
    plugins = load_plugins(SKIP, path=site.path)
    found = by_name(plugins)
    assert (found["bad"].state, found["good"].state) == ("broken", "on")
    assert reason in found["bad"].fault
    assert not plugins.manager.has_plugin("bad")
    assert [each.plugin_name for each in plugins.manager.hook.mlxp_stopping.get_hookimpls()] == ["good"]


def test_every_broken_plugin_is_in_one_message(site):
    site.add("mlxp-bad", {"bad": "raise ValueError('one')", "worse": "raise ValueError('two')"})
    with pytest.raises(PluginError, match=r"(?s)one.*two"):
        load_plugins(PluginSettings(), path=site.path)


def test_a_plugin_for_another_core_is_broken_and_never_imported(site):
    site.add("mlxp-old", {"old": "raise AssertionError('imported')"}, requires=("mlxp-core>=0.0.1,<0.0.2",))
    fault = by_name(load_plugins(SKIP, path=site.path))["old"].fault
    assert "requires mlxp-core" in fault
    assert "mlxp_old_old" not in sys.modules


def test_a_plugin_without_bounds_works_and_is_warned_of(site):
    site.add("mlxp-lax", {"lax": GOOD}, requires=("mlxp-core",))
    lax = by_name(load_plugins(PluginSettings(), path=site.path))["lax"]
    assert lax.state == "on"
    assert "bound" in lax.warnings[0]


def test_a_forgotten_decorator_is_warned_of(site):
    site.add("mlxp-shy", {"shy": "def mlxp_stopping(): pass", "idle": ""})
    found = by_name(load_plugins(PluginSettings(), path=site.path))
    assert found["shy"].warnings == ("mlxp_stopping lacks @hookimpl and is never called",)
    assert found["idle"].warnings == ("it implements no hook",)


def test_the_place_of_a_failure_is_named(site):
    site.add("mlxp-bad", {"bad": "\n\nraise ValueError('here')"})
    assert "mlxp_bad_bad.py:3" in by_name(load_plugins(SKIP, path=site.path))["bad"].fault


def test_objects_are_plugins_too_and_each_load_stands_alone():
    first = load_plugins(PluginSettings(), extra=[("mine", plugin(mlxp_stopping=lambda: None))], path=())
    second = load_plugins(PluginSettings(), path=())
    assert first.manager.has_plugin("mine")
    assert not second.manager.has_plugin("mine")


def test_hooks_run_in_the_order_of_found():
    calls = []
    pair = [
        ("a", plugin(mlxp_stopping=lambda: calls.append("a"))),
        ("b", plugin(mlxp_stopping=lambda: calls.append("b"))),
    ]
    load_plugins(PluginSettings(), extra=pair, path=()).manager.hook.mlxp_stopping()
    assert calls == ["a", "b"]


def test_load_time_is_what_the_clock_says(site):
    site.add("mlxp-good", {"good": GOOD})
    ticks = iter([0.0, 0.0, 1.0, 1.5])
    assert (
        by_name(load_plugins(PluginSettings(), path=site.path, clock=lambda: next(ticks)))["good"].load_ms
        == 500
    )


SPECS = """
import pluggy
from mlxp_core import hookimpl

@pluggy.HookspecMarker("mlxp")
def mlxp_lab_jobs(lab):
    pass

@hookimpl
def mlxp_add_hookspecs(manager):
    manager.add_hookspecs(__import__("sys").modules[__name__])
"""
USER = """
from mlxp_core import hookimpl

@hookimpl
def mlxp_lab_jobs(lab):
    return []
"""


def test_a_hook_of_another_plugin_is_known_while_that_plugin_is_on(site):
    site.add("mlxp-lab", {"lab": SPECS})
    site.add("mlxp-a-user", {"user": USER})
    plugins = load_plugins(PluginSettings(), path=site.path)
    assert plugins.manager.hook.mlxp_lab_jobs(lab=1) == [[]]


@pytest.mark.parametrize(
    "lab", [SPECS + "\nraise ValueError\n", SPECS + "\n@hookimpl\ndef mlxp_nix(): pass\n"]
)
def test_whoever_needs_a_broken_plugins_hook_is_broken_too(site, lab):
    site.add("mlxp-lab", {"lab": lab})
    site.add("mlxp-a-user", {"user": USER})
    assert by_name(load_plugins(SKIP, path=site.path))["user"].state == "broken"


def test_an_optional_hook_of_an_absent_plugin_is_fine(site):
    site.add("mlxp-a-user", {"user": USER.replace("@hookimpl", "@hookimpl(optionalhook=True)")})
    assert by_name(load_plugins(PluginSettings(), path=site.path))["user"].state == "on"


def test_one_object_under_two_names_is_broken_under_the_second():
    both = plugin(mlxp_stopping=lambda: None)
    found = by_name(load_plugins(SKIP, extra=[("a", both), ("b", both)], path=()))
    assert sorted((found["a"].state, found["b"].state)) == ["broken", "on"]


class Counting:
    """Keeps something between its hooks."""

    def __init__(self):
        self.calls = 0

    @hookimpl
    def mlxp_stopping(self):
        self.calls += 1


def test_of_a_class_each_load_makes_an_object_of_its_own():
    loads = [load_plugins(PluginSettings(), extra=[("counting", Counting)], path=()) for _ in range(2)]
    loads[0].manager.hook.mlxp_stopping()
    assert [by_name(loaded)["counting"].plugin.calls for loaded in loads] == [1, 0]


def test_a_class_that_cannot_be_made_is_broken():
    class Demanding:
        def __init__(self, something):
            self.something = something

        mlxp_stopping = Counting.mlxp_stopping

    with pytest.raises(PluginError, match="making it"):
        load_plugins(PluginSettings(), extra=[("demanding", Demanding)], path=())
