"""What plugins cost while an answer is under way: nothing."""

import threading
from collections import Counter
from pathlib import Path

import pluggy
import pytest

import mlxp_core.plugins

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


def test_no_plugin_machinery_runs_between_the_first_token_and_the_last(live, sketch, official, chat, entered):
    with live(sketch) as served:
        client = official(served.url)
        seen = []
        for length in (1, 80):
            entered.clear()
            answer = chat(client, stream=True, max_tokens=length, logprobs=True, logit_bias={"1": -100})
            served.call(lambda: None)  # observers have been told by now
            assert answer.usage.completion_tokens == length
            seen.append(dict(entered))
        served.call(served.desk._registry.plugins.manager.hook.mlxp_stopping)
    assert seen[0] == seen[1] == {"observers.Observers.request_finished": 1, "observers.Observers._tell": 1}
    assert entered["_caller.HookCaller.__call__"] == 1, "pluggy would have been seen"
