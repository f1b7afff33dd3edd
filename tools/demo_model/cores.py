"""Train a small network on processor cores: ``python -m demo_model.cores --out FOLDER --minutes 40``.

One process a core, each with a single thread, so that none waits for a core that is busy with something else. They
share the parameters: each adds its gradients to common sums, and this process takes a step when the sums hold enough
tokens. A gradient may therefore be one step old. Where ``--out`` holds a state, training goes on from it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Lock, Semaphore
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from demo_model import checkpoint, short_mixture
from demo_model.feed import OWN, TOLD, batches
from demo_model.network import Network, initial
from demo_model.optimizer import Optimizer
from demo_model.shape import Shape

SMALL = {
    "hidden": 192,
    "layers": 4,
    "feedforward": 512,
    "heads": 3,
    "kv_heads": 3,
    "key_heads": 3,
    "value_heads": 3,
}
"""The sizes that differ from those of the network for a GPU."""

BATCH = 1536
"""Tokens of a gradient; a multiple of every width up to 768."""

_SHARE = 0.3
"""About the share of tokens that the model has to say itself; makes the loss about a mean."""


class Settings(NamedTuple):
    """What the command line says."""

    minutes: float
    out: Path
    seed: str
    workers: int
    accumulate: int
    longest: int
    muon: float
    adam: float
    decay: float
    warm: int
    cool: float
    told: float


@dataclass(frozen=True, slots=True)
class Shared:
    """What the processes have in common."""

    named: dict[str, Tensor]
    sums: list[Tensor]
    tally: Tensor  # gradients added, their losses, tokens in all
    lock: Lock
    enough: Semaphore


def settings(arguments: list[str]) -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="demo_model.cores", description=__doc__)
    parser.add_argument("--minutes", type=float, required=True, help="of this run")
    parser.add_argument("--out", type=Path, required=True, help="where state and checkpoint are")
    parser.add_argument("--seed", default="cores", help="of the data; another one for every run")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--accumulate", type=int, default=2, help="gradients of a step")
    parser.add_argument("--longest", type=int, default=192, help="most tokens of a conversation")
    parser.add_argument("--muon", type=float, default=0.02)
    parser.add_argument("--adam", type=float, default=0.003)
    parser.add_argument("--decay", type=float, default=0.02)
    parser.add_argument("--warm", type=int, default=100, help="steps in which the rates rise")
    parser.add_argument(
        "--cool", type=float, default=0.0, help="last part of the time, in which they fall to 0"
    )
    parser.add_argument(
        "--told", type=float, default=0.05, help="share of what the model is only told that it learns to say"
    )
    return Settings(**vars(parser.parse_args(arguments)))


def work(place: int, chosen: Settings, shape: Shape, shared: Shared, start: int) -> None:
    """Make data and add gradients, without end."""
    torch.set_num_threads(1)
    network = Network(shape, shared.named)
    values = list(network.named().values())
    draw = torch.Generator().manual_seed(start + place)
    made = batches(
        f"{chosen.seed} {start} {place}",
        tokens=BATCH,
        make=short_mixture.conversation,
        longest=chosen.longest,
    )
    for batch in made:
        tokens, kinds = (torch.from_numpy(part.astype("int64")) for part in batch)
        chance = torch.rand(kinds.shape, generator=draw)
        asked = ((kinds == OWN) | (kinds == TOLD) & (chance < chosen.told)).flatten().nonzero()[:, 0]
        with sdpa_kernel(SDPBackend.MATH):  # the quickest for short rows
            hidden = network(tokens[:, :-1].contiguous(), torch.bfloat16)[asked]
            scores = network.head(hidden).float()
            loss = functional.cross_entropy(scores, tokens[:, 1:].flatten()[asked], reduction="sum") / (
                _SHARE * BATCH
            )
            gradients = torch.autograd.grad(loss, values)
        with shared.lock:
            torch._foreach_add_(shared.sums, list(gradients))
            shared.tally.add_(
                torch.tensor([1.0, float(loss.detach()), batch.kinds.size], dtype=torch.float64)
            )
            if shared.tally[0] >= chosen.accumulate:
                shared.enough.release()


class Training:
    """A network being trained."""

    def __init__(self, chosen: Settings) -> None:
        """Make the network, or read it with all that belongs to it."""
        self.chosen, self._stopped = chosen, False
        self.shape = Shape(**SMALL)
        named, remembered = initial(self.shape, 0), None
        self.notes: dict[str, Any] = {"steps": 0, "tokens": 0, "seconds": 0.0}
        if self._state.exists():
            kept = torch.load(self._state)
            named, self.notes, remembered = kept["named"], kept["notes"], kept["optimizer"]
        self.notes |= {"seen": list(short_mixture.SEEN), "where": f"on {chosen.workers} processor cores"}
        start = multiprocessing.get_context("fork")
        own = {name: value.share_memory_() for name, value in named.items()}
        self.network = Network(self.shape, own)
        sums = [torch.zeros_like(value).share_memory_() for value in self.network.named().values()]
        tally = torch.zeros(3, dtype=torch.float64).share_memory_()
        self.shared = Shared(own, sums, tally, start.Lock(), start.Semaphore(0))
        self.optimizer = Optimizer(
            self.network.named(), muon=chosen.muon, adam=chosen.adam, decay=chosen.decay
        )
        if remembered is not None:
            self.optimizer.restore(remembered)
        self.workers = [
            start.Process(
                target=work, args=(place, chosen, self.shape, self.shared, self.notes["steps"]), daemon=True
            )
            for place in range(chosen.workers)
        ]

    @property
    def _state(self) -> Path:
        return self.chosen.out / "state.pt"

    def run(self) -> None:
        """Train until the time is over, or until this process is told to end; the state is kept either way."""
        for worker in self.workers:
            worker.start()
        signal.signal(signal.SIGTERM, self._stop)
        began = looked = saved = time.monotonic()
        before, window = self.notes["seconds"], _Window()
        whole = self.chosen.minutes * 60
        steps = 0
        while (spent := time.monotonic() - began) < whole and not self._stopped:
            if not self.shared.enough.acquire(timeout=10):  # seconds, after which to look whether they live
                if not all(worker.is_alive() for worker in self.workers):
                    raise RuntimeError("a process of the training has ended")
                continue
            window.add(self._step(self._scale(steps, spent / whole)))
            steps += 1
            now = time.monotonic()
            self.notes["seconds"] = round(before + now - began, 1)
            if now - looked > 30:  # seconds between lines
                counts = {name: self.notes[name] for name in ("steps", "tokens", "seconds")}
                print(json.dumps({**counts, **window.means(now - looked)}), flush=True)
                looked, window = now, _Window()
            if now - saved > 120:  # seconds between states
                self._save()
                saved = now
        for worker in self.workers:
            worker.terminate()
        self._save()

    def _stop(self, *_: object) -> None:
        self._stopped = True

    def _step(self, scale: float) -> Tensor:
        """Use what the processes have added; return their tally."""
        with self.shared.lock:
            added = self.shared.tally.clone()
            if added[0]:
                for value, total in zip(self.network.named().values(), self.shared.sums, strict=True):
                    value.grad = total / added[0]
                self.optimizer.step(scale)
                torch._foreach_zero_(self.shared.sums)
                self.shared.tally.zero_()
                self.notes["steps"] += 1
                self.notes["tokens"] += int(added[2])
        return added

    def _scale(self, step: int, progress: float) -> float:
        """Return the rates' scale after so many steps and this part of the time."""
        rise = min(1.0, (step + 1) / self.chosen.warm)
        return rise * (min(1.0, max(0.02, (1 - progress) / self.chosen.cool)) if self.chosen.cool else 1.0)

    def _save(self) -> None:
        """Write the state, whole or not at all, and a checkpoint."""
        self.chosen.out.mkdir(parents=True, exist_ok=True)
        kept = {
            "named": {name: value.detach().clone() for name, value in self.network.named().items()},
            "notes": self.notes,
            "optimizer": self.optimizer.state(),
        }
        torch.save(kept, self._state.with_suffix(".new"))
        self._state.with_suffix(".new").replace(self._state)
        checkpoint.save(self.chosen.out, kept["named"], self.shape, self.notes)


class _Window:
    """What happened since the last line of the log."""

    def __init__(self) -> None:
        self.tally = torch.zeros(3, dtype=torch.float64)

    def add(self, added: Tensor) -> None:
        self.tally += added

    def means(self, seconds: float) -> dict[str, float]:
        count, loss, tokens = self.tally.tolist()
        return {"loss": round(loss / max(1, count), 4), "per_second": round(tokens / seconds)}


def main(arguments: list[str]) -> None:
    """Train."""
    torch.set_num_threads(1)
    training = Training(settings(arguments))
    print(
        json.dumps({"parameters": sum(value.numel() for value in training.network.parameters())}), flush=True
    )
    training.run()


if __name__ == "__main__":
    main(sys.argv[1:])
