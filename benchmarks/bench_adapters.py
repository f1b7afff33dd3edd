"""What adapters cost a decode step of 8 rows: none mounted, mounted and not taken, one for all, four sets at once.

Run with ``--hidden`` and ``--layers`` for other sizes. Times are the least of all steps, in milliseconds: ``host`` to
build a step, ``step`` until it is done.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxp_core.adapters import open_adapter
from mlxp_core.adapters.mounts import Mounts
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.testing.networks import load, parameters, random_parameters
from mlxp_minicpm5.plugin import mlxp_model_families

ROWS, STEPS, RANK = 8, 40, 16
FAMILY = mlxp_model_families()[0]
LINEAR = tuple(f"{name}.weight" for name in FAMILY.lora_targets)


def config(hidden: int, layers: int) -> dict[str, object]:
    """Return a config.json of a Llama-type network."""
    return {
        "model_type": "llama",
        "vocab_size": 1024,
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 64,
        "num_key_value_heads": hidden // 64,
        "head_dim": 64,
        "hidden_act": "silu",
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
    }


def write_adapter(folder: Path, shapes: dict[str, tuple[int, ...]]) -> Path:
    """Write an adapter for every linear layer of a block."""
    folder.mkdir()
    halves = {}
    for name, (outputs, inputs) in shapes.items():
        path = name.removesuffix(".weight")
        halves[f"{path}.lora_a"] = mx.random.normal((inputs, RANK)) * inputs**-0.5
        halves[f"{path}.lora_b"] = mx.random.normal((RANK, outputs)) * 0.01
    mx.save_safetensors(str(folder / "adapters.safetensors"), halves)
    (folder / "adapter_config.json").write_text(json.dumps({"lora_parameters": {"rank": RANK, "scale": 2.0}}))
    return folder


def build(hidden: int, layers: int) -> Any:
    """Return a network with random weights."""
    model = FAMILY.build(FAMILY.config(config(hidden, layers)))
    load(model, random_parameters(model, 1))
    mx.eval(model.parameters())
    return model


class Stepper:
    """Decode steps of one batch whose rows take these adapters."""

    def __init__(self, model: Any, mounts: Mounts, taken: Sequence[tuple[str, ...]]) -> None:
        """Begin with empty rows."""
        self._model, self._mounts, self._taken = model, mounts, taken
        self._cache = BatchCache(model.make_caches(PlainPolicy(mx.float32)))
        for _ in range(ROWS - 1):
            self._cache.join(BatchCache(model.make_caches(PlainPolicy(mx.float32))))
        self._tokens = mx.ones((ROWS, 1), dtype=mx.int32)
        self.host: list[float] = []
        self.step: list[float] = []

    def go(self) -> None:
        """Take one step."""
        begin = time.perf_counter()
        with self._mounts.rows(self._taken):
            logits = self._model.logits(forward(self._model, self._cache, self._tokens)[:, -1])
        self.host.append(time.perf_counter() - begin)
        mx.eval(logits)
        self.step.append(time.perf_counter() - begin)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--layers", type=int, default=8)
    chosen = parser.parse_args()
    model, plain_model = (build(chosen.hidden, chosen.layers) for _ in range(2))
    shapes = {name: tuple(value.shape) for name, value in parameters(model).items() if name.endswith(LINEAR)}
    mounts, plain = Mounts(model), Mounts(plain_model)
    sets = [(), ("a",), ("b",), ("c", "d")]
    with tempfile.TemporaryDirectory() as scratch:
        for name in "abcd":
            mounts.mount(name, open_adapter(write_adapter(Path(scratch) / name, shapes)), FAMILY)
        cases = {
            "none mounted": Stepper(plain_model, plain, [()] * ROWS),
            "4 mounted, none taken": Stepper(model, mounts, [()] * ROWS),
            "one for all rows": Stepper(model, mounts, [("a",)] * ROWS),
            "4 sets in 8 rows": Stepper(model, mounts, sets * (ROWS // len(sets))),
        }
        for _ in range(STEPS):  # in turns, so that they share the machine's moods
            for case in cases.values():
                case.go()
    print(f"{'':28}{'host ms':>9}{'step ms':>9}")
    for name, case in cases.items():
        print(f"{name:28}{min(case.host) * 1e3:9.2f}{min(case.step) * 1e3:9.2f}")


if __name__ == "__main__":
    main()
