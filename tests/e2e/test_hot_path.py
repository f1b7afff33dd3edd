"""What plugins cost while an answer is under way: nothing."""

import threading
from collections import Counter
from pathlib import Path

import pluggy
import pytest

import mlxp_core.plugins
from mlxp_core import hookimpl
from mlxp_core.testing.client import PATIENCE_S

PLUGGY = str(Path(pluggy.__file__).parent)
OURS = str(Path(mlxp_core.plugins.__file__).parent)


@pytest.fixture
def entered():
    """Functions of pluggy and of our plugins room that threads begun from now on enter, by file and name."""
    counted = Counter()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith((PLUGGY, OURS)):
            counted[f"{Path(code.co_filename).stem}.{code.co_qualname}"] += 1

    threading.setprofile(note)
    yield counted
    threading.setprofile(None)


class Watch:
    """Knows when the hooks of a start have been called; they may still be under way as the first answer begins."""

    def __init__(self):
        self.begun = threading.Event()

    @hookimpl
    def mlxp_model_loaded(self):
        self.begun.set()


def test_no_plugin_machinery_runs_between_the_first_token_and_the_last(live, sketch, official, chat, entered):
    watch = Watch()
    with live(sketch, plugins=[("watch", watch)]) as served:
        assert watch.begun.wait(PATIENCE_S)
        served.call(lambda: None)  # whoever called the hook is done with it by now
        client = official(served.url)
        seen = []
        for length in (1, 80):
            entered.clear()
            answer = chat(client, stream=True, max_tokens=length, logprobs=True, logit_bias={"1": -100})
            served.call(lambda: None)  # observers have been told by now
            assert answer.usage.completion_tokens == length
            seen.append(dict(entered))
        served.call(served.desk._registry.plugins.manager.hook.mlxp_stopping)
    assert seen[0] == seen[1], "eighty tokens cost what one does"
    assert entered["_caller.HookCaller.__call__"] == 1, "pluggy would have been seen"
