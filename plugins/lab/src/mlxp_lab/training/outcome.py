"""What came of a fine-tuning: the adapter, and beside it how it went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from mlx import nn
from msgspec import Struct

from mlxp_core.workshop import OpenModel
from mlxp_core.workshop.parts import mlx_names
from mlxp_core.workshop.terms import Factors
from mlxp_lab.adapting.mlx_form import write_adapter
from mlxp_lab.quantize.folder import write_json
from mlxp_lab.training.checkpoints import Progress
from mlxp_lab.training.lora import Numbers, block_of, blocks
from mlxp_lab.training.parameters import TrainParameters
from mlxp_lab.training.rows import Rows

REPORT = "training.json"


class Outcome(Struct, frozen=True, eq=False):
    """A run that has ended.

    Attributes:
        asked: for.
        rows: learned from.
        progress: how it went.
        stopped: whether it ended before its last step.
        last: what had been learned at its end.
        best: the same at the best evaluation; nothing where there was none.
    """

    asked: TrainParameters
    rows: Rows
    progress: Progress
    stopped: bool
    last: Numbers
    best: Numbers

    @property
    def keeps_best(self) -> bool:
        """Say whether the best is kept, not the last."""
        return self.asked.keep == "best" and bool(self.best)

    @property
    def numbers(self) -> Numbers:
        """Return what is kept."""
        return self.best if self.keeps_best else self.last


def summary_of(outcome: Outcome, model: str) -> dict[str, Any]:
    """Return what to tell of a run, in JSON."""
    asked, progress = outcome.asked, outcome.progress
    losses = [told["loss"] for told in progress.history if "loss" in told]
    return {
        "adapter": Path(asked.output or "").name,
        "model": model,
        "method": asked.method,
        "rows": len(outcome.rows.train),
        "valid_rows": len(outcome.rows.valid),
        "dropped": outcome.rows.dropped,
        "steps": progress.step,
        "stopped_early": outcome.stopped,
        "tokens": progress.tokens,
        "train_loss": losses[-1] if losses else None,
        "valid_loss": progress.best_loss,
        "best_step": progress.best_step,
        "kept": "best" if outcome.keeps_best else "last",
        "seconds": round(progress.seconds, 3),
        "trained_numbers": sum(array.size for array in outcome.numbers.values()),
    }


def write_outcome(outcome: Outcome, model: OpenModel, network: nn.Module, folder: Path) -> None:
    """Write the adapter and the report.

    Args:
        outcome: of the run.
        model: which learned.
        network: its network.
        folder: where to; empty.
    """
    asked, numbers, names = outcome.asked, outcome.numbers, mlx_names(model)
    paths = sorted({name.rpartition(".")[0] for name in numbers})
    halves = {path: Factors(numbers[f"{path}.lora_a"], numbers[f"{path}.lora_b"]) for path in paths}
    write_adapter(
        folder,
        {file_name(path, names): term for path, term in halves.items()},
        rank=asked.rank,
        scale=asked.scale,
        dropout=asked.dropout,
        layers=blocks(network) - min(block_of(path) or 0 for path in paths),
        base_model=model.name,
    )
    report = {
        "summary": summary_of(outcome, model.name),
        "parameters": msgspec.to_builtins(asked),
        "history": outcome.progress.history,
    }
    write_json(folder / REPORT, report)


def file_name(path: str, names: Callable[[str], str]) -> str:
    """Return what files call a module, by what they call parameters."""
    return names(f"{path}.weight").removesuffix(".weight")
