"""What a step of fine-tuning costs: ours, ours with blocks computed again, and mlx-lm's, on the same network and rows.

A random Llama-type network with terms on all linear layers, and 4 rows of 256 tokens. Rounds take turns, and the median
counts: processor seconds, and the most memory of a step beside the weights.

    python benchmarks/bench_training.py --hidden 128 --layers 6
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.optimizers as optim
from bench_adapters import FAMILY, config
from mlx import nn
from mlx_lm.tuner.trainer import default_loss
from mlx_lm.tuner.utils import linear_to_lora_layers
from mlx_lm.utils import load_model

from mlxp_core.testing.networks import load, parameters, random_parameters
from mlxp_lab.adapting.mlx_form import within_block
from mlxp_lab.training.examples import Example
from mlxp_lab.training.learner import Learner
from mlxp_lab.training.lora import Recipe, attach, chosen
from mlxp_lab.training.objectives import Answers
from mlxp_lab.training.parameters import TrainParameters
from mlxp_lab.training.recompute import recompute_blocks

ROWS, TOKENS, RANK, ROUNDS = 4, 257, 8, 3
PASS = tuple((row,) for row in range(ROWS))


def rows() -> list[Example]:
    """Return rows of which the second half is learned."""
    return [
        Example(tuple(5 + (7 * row + 11 * at) % 900 for at in range(TOKENS)), ((TOKENS // 2, TOKENS),))
        for row in range(ROWS)
    ]


def ours(read: dict[str, object], *, again: bool) -> Callable[[], object]:
    """Return a step of ours."""
    network: Any = FAMILY.build(FAMILY.config(read))
    load(network, random_parameters(network, 1))
    paths = chosen(network, FAMILY.lora_targets, None)
    chance = attach(network, paths, Recipe(rank=RANK, scale=2.0, dropout=0.0, seed=0))
    if again:
        recompute_blocks(network)
    learner, objective = Learner(network, chance, TrainParameters(model="", data="")), Answers(rows())
    mx.eval(network.parameters())
    return lambda: learner.step(0, 1e-4, [PASS], objective)


def theirs(read: dict[str, object], folder: Path) -> Callable[[], object]:
    """Return a step of mlx-lm's trainer, not compiled: for a processor that takes minutes."""
    network: Any = FAMILY.build(FAMILY.config(read))
    load(network, random_parameters(network, 1))
    (folder / "config.json").write_text(json.dumps(read))
    mx.save_safetensors(str(folder / "model.safetensors"), parameters(network), metadata={"format": "mlx"})
    model, _ = load_model(folder)
    model.freeze()
    keys = sorted({within_block(path) for path in chosen(network, FAMILY.lora_targets, None)})
    recipe = {"rank": RANK, "scale": 2.0, "dropout": 0.0, "keys": keys}
    linear_to_lora_layers(model, len(model.layers), recipe)
    optimizer, slopes = optim.AdamW(1e-4, bias_correction=True), nn.value_and_grad(model, default_loss)
    tokens = mx.array([each.tokens for each in rows()])
    lengths = mx.array([[TOKENS // 2, TOKENS - 1]] * ROWS)
    state = [model.state, optimizer.state]
    mx.eval(state)

    def step() -> object:
        (loss, _), gradient = slopes(model, tokens, lengths)
        optimizer.update(model, gradient)
        mx.eval(state, loss)
        return loss

    return step


def measured(step: Callable[[], object]) -> tuple[float, float]:
    """Return processor seconds and MB of a step."""
    mx.clear_cache()
    mx.reset_peak_memory()
    before, began_s = mx.get_active_memory(), time.process_time()
    step()
    return time.process_time() - began_s, (mx.get_peak_memory() - before) / 1e6


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=6)
    asked = parser.parse_args()
    read = config(asked.hidden, asked.layers)
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "ours": ours(read, again=False),
            "ours, computed again": ours(read, again=True),
            "mlx-lm": theirs(read, Path(folder)),
        }
        told: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for step in ways.values():
            step()
        for _ in range(ROUNDS):
            for name, step in ways.items():
                told[name].append(measured(step))
    for name, rounds in told.items():
        seconds, memory = (statistics.median(values) for values in zip(*rounds, strict=True))
        print(f"{name:22} {seconds:7.2f} s of processors {memory:8.0f} MB")


if __name__ == "__main__":
    main()
