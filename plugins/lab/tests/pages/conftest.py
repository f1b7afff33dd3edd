"""A real server with the lab, its page in a real browser, and a stranger's kinds of jobs beside the lab's own."""

import json
import os

import mlx.core as mx
import pytest

from mlxp_core.loading.sketch import sketch_config, write_sketch
from mlxp_core.testing.live import serve_folders

PATIENCE_MS = 90_000
"""Jobs are processes: on a busy machine they take their time."""


@pytest.fixture(scope="module")
def lab_server(strangers, tmp_path_factory):
    """A server of a small model, with a lab of its own; no job is left behind."""
    home = tmp_path_factory.mktemp("home")
    sketch = write_sketch(home / "sketch")
    write_adapter(home / "adapters" / "polite")
    known = [str(strangers), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    flags = {
        "engine": {"dtype": "float32", "memory_budget": "4GB"},
        "lab": {"folder": str(home / "lab"), "grace_s": 1.0},
        "adapters": {"roots": [str(home / "adapters")]},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))
        patch.syspath_prepend(str(strangers))
        with serve_folders(sketch, flags=flags) as served:
            yield served


def write_adapter(folder, rank=2):
    """Write an adapter for the small model."""
    config = sketch_config()
    hidden, width = config["hidden_size"], config["num_attention_heads"] * config["head_dim"]
    name = "model.layers.0.self_attn.q_proj"
    tensors = {f"{name}.lora_a": mx.ones((hidden, rank)), f"{name}.lora_b": mx.ones((rank, width))}
    folder.mkdir(parents=True)
    mx.save_safetensors(str(folder / "adapters.safetensors"), tensors)
    lora = {"rank": rank, "scale": 2.0, "dropout": 0.0, "keys": ["self_attn.q_proj"]}
    told = {"fine_tune_type": "lora", "num_layers": -1, "lora_parameters": lora}
    (folder / "adapter_config.json").write_text(json.dumps(told))


@pytest.fixture
def lab_page(visit, lab_server, until):
    """The lab, as a new visitor sees it; what a test has started, and left running, is stopped."""

    def begin(*place, **options):
        page = visit(f"{lab_server.url}/#/lab/{'/'.join(place)}", **options)
        page.set_default_timeout(PATIENCE_MS)
        page.get_by_role("navigation", name="Lab").wait_for()
        return page

    yield begin
    for job in left(lab_server):
        lab_server.client.post(f"/api/jobs/{job['id']}/cancel")
    until(lambda: not left(lab_server))


def left(server):
    """Return the jobs that have not ended."""
    ended = {"done", "failed", "cancelled"}
    return [job for job in server.client.get("/api/jobs").json()["jobs"] if job["state"] not in ended]


@pytest.fixture
def trial(lab_server, gates):
    """Submit a stranger's job; returns its id and the gates that hold it up."""

    def submit(kind="trial", **more):
        gate = gates()
        body = {"kind": kind, "parameters": {"gates": str(gate), **more}}
        answer = lab_server.client.post("/api/jobs", json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()["id"], gate

    return submit
