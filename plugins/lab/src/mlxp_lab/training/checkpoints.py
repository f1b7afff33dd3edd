"""What it takes to go on with a fine-tuning exactly where it was: one file, replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import mlx.core as mx
import msgspec
from msgspec import Struct, field

from mlxp_lab.jobs import JobFailed
from mlxp_lab.training.lora import Numbers

FILE = "checkpoint.safetensors"


class Progress(Struct, kw_only=True):
    """How far a fine-tuning is.

    Attributes:
        digest: of the rows it learns from.
        step: steps taken.
        tokens: learned from.
        best_loss: of the held-out rows; ``None`` = never evaluated.
        best_step: after which it was.
        since_best: evaluations since.
        pending: what steps have said since the last report, by name.
        history: what was told so far.
        seconds: of learning, all runs together.
    """

    digest: str
    step: int = 0
    tokens: int = 0
    best_loss: float | None = None
    best_step: int | None = None
    since_best: int = 0
    pending: dict[str, list[float]] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0


class Kept(Struct, frozen=True, eq=False):
    """A checkpoint: progress, what is learned, the best of it, and what the optimizer keeps."""

    progress: Progress
    numbers: Numbers
    best: Numbers
    optimizer: Numbers


def save(folder: Path, kept: Kept) -> None:
    """Write a checkpoint in the place of an earlier one; whoever is killed meanwhile leaves the earlier one."""
    arrays = {
        f"{part}/{name}": array
        for part, numbers in (("now", kept.numbers), ("best", kept.best), ("optimizer", kept.optimizer))
        for name, array in numbers.items()
    }
    told = msgspec.json.encode(kept.progress).decode()
    written = folder / "fresh.safetensors"
    mx.save_safetensors(str(written), arrays, metadata={"progress": told})
    handle = os.open(written, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    written.replace(folder / FILE)


def load(folder: Path, digest: str) -> Kept | None:
    """Return the checkpoint of a folder; ``None`` where there is none.

    Raises:
        JobFailed: it is damaged, or of other rows.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        loaded: Any = mx.load(str(path), return_metadata=True)
        arrays, told = loaded
        progress = msgspec.json.decode(told["progress"], type=Progress)
    except (RuntimeError, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise JobFailed(
            f"the checkpoint {path} cannot be read: {error}; retry the job from its beginning"
        ) from error
    if progress.digest != digest:
        raise JobFailed(
            "the rows are others than when the job began, so it cannot go on; retry it from its beginning"
        )
    parts: dict[str, Numbers] = {"now": {}, "best": {}, "optimizer": {}}
    for name, array in arrays.items():
        part, _, rest = name.partition("/")
        parts[part][rest] = array
    return Kept(progress, parts["now"], parts["best"], parts["optimizer"])
