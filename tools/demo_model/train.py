"""Train the network on one NVIDIA GPU within a given time: ``python -m demo_model.train --minutes 9 --out FOLDER``.

The rate of learning follows the clock: it rises quickly, stays, and falls to ``--end`` over the last part of the time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch

from demo_model import checkpoint
from demo_model.answering import evaluate
from demo_model.codec import Codec
from demo_model.feed import BATCH, OWN, TOKENIZER, TOLD, Batch, Feed, row, stack, width_of
from demo_model.network import Network, initial
from demo_model.optimizer import Optimizer
from demo_model.questions import CATEGORIES, questions
from demo_model.shape import Shape

_SHARE = 0.3
"""About the share of tokens that the model has to say itself; makes the loss about a mean."""


class Settings(NamedTuple):
    """What the command line says."""

    minutes: float
    out: Path
    resume: Path | None
    seed: str
    workers: int
    batch: int
    accumulate: int
    muon: float
    adam: float
    decay: float
    peak: float
    end: float
    warm: int
    cool: float
    told: float
    ask: int
    reserve: float
    eager: bool
    device: str
    shape: str
    steps: int


def settings(arguments: list[str]) -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="demo_model.train", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, required=True, help="time for everything, start and questions included"
    )
    parser.add_argument("--out", type=Path, required=True, help="where checkpoint, log and scores go")
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--seed", default="train", help="of the data; another one for every run")
    parser.add_argument("--workers", type=int, default=13, help="processes that make data")
    parser.add_argument("--batch", type=int, default=BATCH, help="tokens of a batch")
    parser.add_argument("--accumulate", type=int, default=2, help="batches of a step")
    parser.add_argument("--muon", type=float, default=0.02)
    parser.add_argument("--adam", type=float, default=0.003)
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--peak", type=float, default=1.0, help="of the rates, while they stay")
    parser.add_argument("--end", type=float, default=0.0, help="of the rates, at the end")
    parser.add_argument("--warm", type=int, default=200, help="steps in which they rise")
    parser.add_argument("--cool", type=float, default=0.5, help="part of the time in which they fall")
    parser.add_argument("--told", type=float, default=0.05, help="weight of what the model is only told")
    parser.add_argument("--ask", type=int, default=128, help="questions of each category at the end")
    parser.add_argument("--reserve", type=float, default=75.0, help="seconds kept for questions and files")
    parser.add_argument("--eager", action="store_true", help="do not compile")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shape", default="{}", help="sizes of the network that differ, as JSON")
    parser.add_argument("--steps", type=int, default=10**9, help="most steps, for trials")
    return Settings(**vars(parser.parse_args(arguments)))


class Training:
    """A network being trained."""

    def __init__(self, chosen: Settings, began: float) -> None:
        """Make or read the network; ``began`` is when the time began to run."""
        self.chosen, self.began = chosen, began
        self.dtype = torch.bfloat16 if chosen.device == "cuda" else torch.float32
        named, self.shape, self.notes = _start(chosen)
        own = {name: value.to(chosen.device) for name, value in named.items()}
        self.network = Network(self.shape, own, compiled=not chosen.eager)
        self.optimizer = Optimizer(
            self.network.named(), muon=chosen.muon, adam=chosen.adam, decay=chosen.decay
        )
        self.log: list[dict[str, Any]] = []
        self._questions: dict[str, Batch] = {}

    @property
    def spent(self) -> float:
        """Return seconds since the beginning."""
        return time.monotonic() - self.began

    def run(self, feed: Feed) -> None:
        """Train until the time is over."""
        budget = self.chosen.minutes * 60 - self.chosen.reserve
        looked = first = self.spent
        total, tokens, seen, waited, step = 0.0, 0, 0, 0.0, 0
        losses = torch.zeros((), device=self.chosen.device)
        while self.spent < budget and step < self.chosen.steps:
            for _ in range(self.chosen.accumulate):
                asked = time.monotonic()
                batch = feed.take()
                waited += time.monotonic() - asked
                losses += self._learn(batch)
                seen += batch.kinds.size
            self.optimizer.step(self._scale(step, (self.spent - first) / (budget - first)))
            step += 1
            if step in {1, 10} or self.spent - looked > 20:  # seconds between lines
                total, now = float(losses), self.spent  # waits for the device
                losses.zero_()
                line = {
                    "step": step,
                    "seconds": round(now, 1),
                    "loss": round(total / max(1, (seen - tokens) / self.chosen.batch), 4),
                    "tokens": seen,
                    "per_second": round((seen - tokens) / max(1e-9, now - looked)),
                    "waited": round(waited / max(1e-9, now - looked), 3),
                }
                line |= {"held": self._held()} if step > 10 else {}
                print(json.dumps(line), flush=True)
                self.log.append(line)
                tokens, looked, waited = seen, self.spent, 0.0
        for name, more in (("steps", step), ("tokens", seen), ("seconds", round(self.spent))):
            self.notes[name] = self.notes.get(name, 0) + more
        self.notes |= {"seen": list(CATEGORIES), "where": "on one GPU"}

    def _learn(self, batch: Batch) -> torch.Tensor:
        tokens, kinds = (torch.from_numpy(part.astype("int64")) for part in batch)
        if self.chosen.device == "cuda":
            tokens, kinds = tokens.pin_memory(), kinds.pin_memory()
        tokens, kinds = (part.to(self.chosen.device, non_blocking=True) for part in (tokens, kinds))
        weight = (kinds == OWN).float() + self.chosen.told * (kinds == TOLD)
        inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        loss = self.network.loss(inputs, targets, weight, self.dtype) / (_SHARE * self.chosen.batch)
        (loss / self.chosen.accumulate).backward()
        return loss.detach()

    def _scale(self, step: int, progress: float) -> float:
        """Return the rates' scale after so many steps and this part of the time."""
        rise = min(1.0, (step + 1) / self.chosen.warm)
        fall = min(1.0, max(0.0, (1 - progress) / self.chosen.cool))
        return rise * (self.chosen.end + (self.chosen.peak - self.chosen.end) * fall)

    @torch.no_grad()
    def _held(self) -> dict[str, float]:
        """Return the mean loss of what the model has to say, by category of the evaluation."""
        if not self._questions:
            codec = Codec(TOKENIZER)
            for category in CATEGORIES:
                rows = [row(each, codec) for each in questions(category, 64)]
                width = max(width_of(len(each.tokens)) or 0 for each in rows)
                self._questions[category] = stack(
                    [each for each in rows if width_of(len(each.tokens))], width
                )
        plain = self.plain()
        found = {}
        for category, batch in self._questions.items():
            tokens = torch.from_numpy(batch.tokens.astype("int64")).to(self.chosen.device)
            weight = torch.from_numpy((batch.kinds == OWN).astype("float32")).to(self.chosen.device)
            loss = plain.loss(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous(), weight, self.dtype)
            found[category] = round(float(loss) / float(weight.sum()), 4)
        return found

    def plain(self) -> Network:
        """Return the same network, not compiled, for rows of any number."""
        return Network(self.shape, dict(self.network.named()))


def _start(chosen: Settings) -> tuple[dict[str, torch.Tensor], Shape, dict[str, Any]]:
    if chosen.resume is not None:
        return checkpoint.load(chosen.resume)
    shape = Shape(**json.loads(chosen.shape))
    return initial(shape, 0), shape, {}


def main(arguments: list[str]) -> None:
    """Train, ask, save."""
    began = time.monotonic()
    chosen = settings(arguments)
    feed = Feed(chosen.seed, chosen.workers, tokens=chosen.batch)
    torch.set_float32_matmul_precision("high")
    torch._dynamo.config.suppress_errors = True  # noqa: SLF001  # torch has no public name for it; what cannot be compiled is run as it is
    training = Training(chosen, began)
    print(
        json.dumps({"parameters": sum(value.numel() for value in training.network.parameters())}), flush=True
    )
    training.run(feed)
    feed.stop()
    checkpoint.save(chosen.out, training.network.named(), training.shape, training.notes)
    (chosen.out / "log.json").write_text(json.dumps(training.log, indent=1) + "\n", "utf-8")
    print(f"saved after {training.spent:.0f} s", flush=True)
    if chosen.ask:
        until = began + chosen.minutes * 60 - 5
        table = evaluate(
            training.plain(), TOKENIZER, chosen.ask, device=chosen.device, dtype=training.dtype, until=until
        )
        (chosen.out / "scores.json").write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    print(f"done after {training.spent:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
