"""Put trained weights into the plugin: ``python -m demo_model.release CHECKPOINT``.

Exports, evaluates, measures the speed, and writes model folder, scores and model card. Runs in the server's
environment. What transformers computes is recorded by ``demo_model.record``, which needs torch.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx

from demo_model.card import card
from demo_model.evaluate import evaluate
from demo_model.export import export
from demo_model.questions import CATEGORIES
from mlxp_core.testing.answering import answering
from mlxp_core.types import Finished, GenerateRequest, Message, Sampling, Text

PLUGIN = Path(__file__).parents[2] / "plugins" / "demo"
NAME = "mlxp-demo"
_LONG = "Repeat after me: " + " ".join(["river", "stone", "garden", "music"] * 6)


def speed(folder: Path) -> float:
    """Return tokens a second of one request, the best of a few."""
    with answering(folder) as model:
        rates = []
        for number in range(4):
            asked = GenerateRequest(
                id=f"speed-{number}",
                model="",
                prompt=(Message("user", (Text(_LONG),)),),
                sampling=Sampling(temperature=1.0),
                max_tokens=128,
            )
            end = model.ask(asked)[0][-1]
            assert isinstance(end, Finished)  # noqa: S101  # nothing else ends a request that is not cancelled
            rates.append((end.usage.completion - 1) / max(1e-9, end.timing.decode_s))
    return max(rates)


def facts_of(checkpoint: Path, folder: Path) -> dict[str, Any]:
    """Return what the card says of the model beside its scores."""
    notes = json.loads((checkpoint / "training.json").read_text("utf-8"))
    count = sum(
        value.size
        for file in checkpoint.glob("weights-*.safetensors")
        for value in mx.load(str(file)).values()
    )
    return {
        "parameters": count,
        "megabytes": f"{sum(file.stat().st_size for file in folder.iterdir()) / 1e6:.1f}",
        "layers": notes["shape"]["layers"],
        "hidden": notes["shape"]["hidden"],
        "tokens": notes["tokens"],
        "seconds": notes["seconds"],
        "where": notes["where"],
        "seen": notes["seen"],
    }


def main(arguments: list[str]) -> None:
    """Release."""
    parser = argparse.ArgumentParser(prog="demo_model.release", description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--plugin", type=Path, default=PLUGIN)
    parser.add_argument("--count", type=int, default=200, help="questions of each category")
    parser.add_argument(
        "--machine", default=f"on {os.cpu_count()} processor cores", help="where it is measured"
    )
    chosen = parser.parse_args(arguments)
    folder = export(chosen.checkpoint, chosen.plugin / "src" / "mlxp_demo" / NAME, bits=8)
    facts = facts_of(chosen.checkpoint, folder) | {"speed": f"{speed(folder):.0f}", "machine": chosen.machine}
    scores = evaluate(folder, list(CATEGORIES), chosen.count, wrong=1)
    (chosen.plugin / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", "utf-8")
    (chosen.plugin / "README.md").write_text(card(scores, facts), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # for the reason that mlxp_core.cli.main.run gives
