"""What a start takes: no library that it has no use for, and no search for garbage."""

import gc
import subprocess
import sys

import pytest

from mlxp_core.cli.sweeping import unswept
from mlxp_core.loading.sketch import write_sketch

NOT_NEEDED = ("PIL", "attr", "prometheus_client", "pydantic", "rich.console", "rich.progress", "rich.table")
"""What takes long to import: for images, routes, scrapes, commands and terminals, where there are any."""

START = """
import sys
from pathlib import Path
import mlxp_core.cli.serve
from mlxp_core.cli.assembly import assemble
from mlxp_core.cli.selection import set_up_here
from mlxp_core.desk import line_up, open_model
from mlxp_core.server import build_app
from mlxp_core.types import EngineSettings, ModelsSettings, ServerSettings

setup = set_up_here({}, None, commands=False)
settings = setup.settings.section
model = open_model(Path(sys.argv[1]), setup.registry, settings(EngineSettings), lambda *_: None)
lineup = line_up([("m", model)], settings(ModelsSettings))
build_app(setup.registry, assemble(lineup, setup), settings(ServerSettings))
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""


def test_a_server_starts_without_what_it_has_no_use_for(tmp_path):
    model = write_sketch(tmp_path / "sketch")
    command = [sys.executable, "-c", START, str(model), *NOT_NEEDED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == []


@pytest.mark.parametrize("fault", [None, RuntimeError])
def test_garbage_is_collected_again_however_the_start_ends_and_what_is_there_stays(fault):
    raised = None
    try:
        with unswept():
            assert not gc.isenabled()
            if fault is not None:
                raise fault
    except RuntimeError as error:
        raised = type(error)
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert raised is fault
    gc.unfreeze()
