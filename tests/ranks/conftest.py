"""Two ranks: this process is the first one, and leads another."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlxp_core.memory.device import this_machine
from mlxp_core.ranks import launched
from mlxp_core.ranks.leader import Leader
from mlxp_core.ranks.meeting import meet

sys.path.insert(
    0, str(Path(__file__).parent)
)  # for modules beside this one, which the other rank imports, too
from rank_hosts import PATIENCE_S, hosts_of_our_own

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def environments(tmp_path_factory):
    """Return the environment of each of two ranks, as ``mlx.launch`` makes it."""
    hosts = tmp_path_factory.mktemp("ranks") / "hosts.json"
    hosts.write_text(json.dumps(hosts_of_our_own(2)))
    return [{**os.environ, "MLX_HOSTFILE": str(hosts), "MLX_RANK": str(rank)} for rank in range(2)]


@pytest.fixture(scope="session")
def leader(environments, tiny_checkpoints):
    """The first of two ranks, in this process."""
    other = subprocess.Popen(
        [sys.executable, str(HERE / "rank_follows.py"), str(tiny_checkpoints)], env=environments[1]
    )
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MLX_HOSTFILE", "MLX_RANK"):
            patch.setenv(name, environments[0][name])
        meeting = meet(launched(environments[0]), this_machine())
    leading = Leader(meeting.group, meeting.lines)
    yield leading
    leading.close()
    assert other.wait(PATIENCE_S) == 0
