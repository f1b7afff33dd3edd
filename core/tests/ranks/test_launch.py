"""Which rank a process is, from what mlx.launch leaves in its environment."""

import json
import subprocess
import sys

import pytest

from mlxp_core.errors import SetupError
from mlxp_core.ranks import Launch, launched


@pytest.fixture
def listed(tmp_path):
    def write(content):
        path = tmp_path / "listed.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def test_a_process_of_its_own_is_no_rank():
    assert launched({"HOME": "/"}) is None


def test_a_ring_is_read_from_its_hosts(listed):
    hosts = listed([["10.0.0.1:5000", "10.0.1.1:5001"], ["10.0.0.2:5000"], ["10.0.0.3:5000"]])
    environ = {"MLX_HOSTFILE": hosts, "MLX_RANK": "2"}
    launch = launched(environ)
    assert launch == Launch("ring", 2, 3, "10.0.0.1")
    assert not launch.leads


def test_nccl_says_who_is_first():
    environ = {"MLX_RANK": "0", "MLX_WORLD_SIZE": "4", "NCCL_HOST_IP": "10.1.2.3", "NCCL_PORT": "12345"}
    launch = launched(environ)
    assert launch == Launch("nccl", 0, 4, "10.1.2.3")
    assert launch.leads


def test_jaccl_says_who_coordinates(listed):
    devices = listed([[None, "rdma_en3"], ["rdma_en5", None]])
    environ = {"MLX_RANK": "1", "MLX_IBV_DEVICES": devices, "MLX_JACCL_COORDINATOR": "10.0.0.9:32323"}
    assert launched(environ) == Launch("jaccl", 1, 2, "10.0.0.9")


@pytest.mark.parametrize("content", ["", "[]", [["10.0.0.1:5000"]]])
def test_one_rank_is_alone(listed, content):
    assert launched({"MLX_RANK": "0", "MLX_HOSTFILE": listed(content)}) is None


@pytest.mark.parametrize(
    ("environ", "content"),
    [
        ({"MLX_RANK": "one"}, [["h:1"], ["h:2"]]),
        ({"MLX_RANK": "2"}, [["h:1"], ["h:2"]]),
        ({"MLX_RANK": "-1"}, [["h:1"], ["h:2"]]),
        ({"MLX_RANK": "0"}, {"hosts": 2}),
        ({"MLX_RANK": "0"}, [[], []]),
        ({"MLX_RANK": "0"}, "no json"),
    ],
)
def test_what_is_not_as_mlx_launch_sets_it_is_refused(listed, environ, content):
    with pytest.raises(SetupError, match="MLX_RANK"):
        launched({**environ, "MLX_HOSTFILE": listed(content)})


def test_a_rank_without_a_back_end_is_refused():
    with pytest.raises(SetupError, match=r"mlx\.launch"):
        launched({"MLX_RANK": "0"})


def test_knowing_which_rank_it_is_loads_no_arrays():
    code = "import sys, mlxp_core.ranks; print('mlx' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )
