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

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for ``sources``, which the other rank imports, too
PATIENCE_S = 60


def hosts_of_our_own(ranks, first=20000):
    """Return hosts of a ring that no other process uses: on Linux, every number behind 127 is this machine."""
    pid = os.getpid()
    host = (
        f"127.{pid // 65536 % 64 + 64}.{pid // 256 % 256}.{pid % 254 + 1}"
        if sys.platform == "linux"
        else "127.0.0.1"
    )
    return [[f"{host}:{first + pid % 2500 + rank}"] for rank in range(ranks)]


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
        [sys.executable, str(HERE / "follow.py"), str(tiny_checkpoints)], env=environments[1]
    )
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MLX_HOSTFILE", "MLX_RANK"):
            patch.setenv(name, environments[0][name])
        meeting = meet(launched(environments[0]), this_machine())
    leading = Leader(meeting.group, meeting.lines)
    yield leading
    leading.close()
    assert other.wait(PATIENCE_S) == 0
