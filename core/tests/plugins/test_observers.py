import logging
from types import SimpleNamespace

import pytest

from mlxp_core import hookimpl
from mlxp_core.plugins import Observers, load_plugins
from mlxp_core.types import PluginSettings


def observers(**plugins):
    """Observers of plugins given as name -> hooks."""
    extra = [
        (name, SimpleNamespace(**{hook: hookimpl(function) for hook, function in hooks.items()}))
        for name, hooks in plugins.items()
    ]
    return Observers(load_plugins(PluginSettings(), extra=extra, path=()).manager)


def fail():
    raise ValueError("broken observer")


@pytest.mark.parametrize(
    ("hook", "method", "argument"),
    [
        ("mlxp_started", "started", "services"),
        ("mlxp_model_loaded", "model_loaded", "model"),
        ("mlxp_request_finished", "request_finished", "record"),
    ],
)
def test_an_observer_is_told(hook, method, argument):
    seen = []
    functions = {
        "services": lambda services: seen.append(("services", services)),
        "model": lambda model: seen.append(("model", model)),
        "record": lambda record: seen.append(("record", record)),
    }
    getattr(observers(mine={hook: functions[argument]}), method)("said")
    assert seen == [(argument, "said")]


def test_an_observer_may_leave_arguments_out():
    seen = []
    observers(mine={"mlxp_model_loaded": lambda: seen.append(1)}).model_loaded("said")
    assert seen == [1]


def test_a_failing_observer_is_logged_and_counted_and_others_are_told_all_the_same(caplog):
    told = []
    all_of_them = observers(bad={"mlxp_stopping": fail}, good={"mlxp_stopping": lambda: told.append(1)})
    with caplog.at_level(logging.ERROR, logger="mlxp.plugins"):
        all_of_them.stopping()
        all_of_them.stopping()
    assert told == [1, 1]
    assert (all_of_them.faults("bad"), all_of_them.faults("good")) == (2, 0)
    assert "plugin bad: mlxp_stopping failed: ValueError: broken observer" in caplog.text


def test_only_the_first_failure_of_a_plugin_is_logged_with_its_traceback(caplog):
    bad = observers(bad={"mlxp_stopping": fail})
    with caplog.at_level(logging.ERROR, logger="mlxp.plugins"):
        bad.stopping()
        bad.stopping()
    assert [record.exc_info is None for record in caplog.records] == [False, True]


def test_an_interrupt_is_no_failure():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observers(mine={"mlxp_stopping": interrupt}).stopping()
