"""What the job does: read rows, learn from them, and write the adapter."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from mlx import nn

from mlxp_core.contracts import LanguageModel
from mlxp_core.workshop import open_model
from mlxp_lab.jobs import JobContext, JobFailed, JobResult
from mlxp_lab.training import rows
from mlxp_lab.training.curriculum import Curriculum, curriculum
from mlxp_lab.training.examples import Teacher
from mlxp_lab.training.learner import Learner
from mlxp_lab.training.lora import Chance, Recipe, attach, chosen
from mlxp_lab.training.outcome import Outcome, summary_of, write_outcome
from mlxp_lab.training.parameters import TrainParameters
from mlxp_lab.training.recompute import recompute_blocks
from mlxp_lab.training.run import Run

_READ, _LOADED, _ASKED, _LEARNED = 0.05, 0.1, 0.15, 0.98
"""How far the whole job is after each of its parts."""


class Work:
    """One fine-tuning."""

    def __init__(self, parameters: TrainParameters, context: JobContext) -> None:
        """Prepare to do what the parameters say."""
        self._asked, self._context = parameters, context
        self._model = open_model(Path(parameters.model), context.site.models)

    def do(self) -> JobResult:
        """Do it."""
        asked, context = self._asked, self._context
        found = rows.read(asked, self._teacher(), self._reading)
        told = f"{len(found.train)} rows to learn from, {len(found.valid)} held out"
        lost = f"; {found.dropped} have nothing to learn within {asked.max_tokens} tokens"
        context.log(told + (lost if found.dropped else ""))
        context.progress(_READ, "loading the model", stage="loading")
        network = self._model.network(progress=self._loading).model
        chance, plan = self._attached(network), curriculum(asked, found)
        if plan.objective.asks_base:
            self._ask_base(network, chance, plan)
        learner = Learner(network, chance, asked)
        run = Run(asked, context, learner, plan, found.digest)
        run.go(lambda share: _ASKED + (_LEARNED - _ASKED) * share)
        context.progress(_LEARNED, "writing the adapter", stage="writing")
        outcome = Outcome(asked, found, run.progress, run.stopped, learner.numbers, run.best)
        place = Path(asked.output or "")
        with context.making(place, replace=asked.replace) as fresh:
            write_outcome(outcome, self._model, cast("nn.Module", network), fresh)
        return JobResult(output=place, summary=summary_of(outcome, self._model.name))

    def _teacher(self) -> Teacher:
        asked = self._asked
        return Teacher(
            self._model, learn=asked.learn, chat_template=asked.chat_template, max_tokens=asked.max_tokens
        )

    def _attached(self, network: LanguageModel) -> Chance:
        """Give the network its terms."""
        asked, family, module = self._asked, self._model.family, cast("nn.Module", network)
        strange = sorted(set(asked.targets) - set(family.lora_targets))
        if strange:
            listed = ", ".join(family.lora_targets) or "none"
            raise JobFailed(f"{', '.join(strange)} takes no adapters in {family.name}; these do: {listed}")
        paths = chosen(module, asked.targets or family.lora_targets, asked.layers)
        recipe = Recipe(rank=asked.rank, scale=asked.scale, dropout=asked.dropout, seed=asked.seed)
        chance = attach(module, paths, recipe)
        if asked.recompute:
            recompute_blocks(module)
        return chance

    def _ask_base(self, network: LanguageModel, chance: Chance, plan: Curriculum) -> None:
        """Ask the network, without its terms, about every pass."""
        chance.counts = False
        asked = [(plan.objective, batch) for batch in plan.course.in_order()]
        asked += [(plan.exam, batch) for batch in plan.exam_passes]
        for done, (objective, batch) in enumerate(asked):
            self._context.breathe()
            share = _LOADED + (_ASKED - _LOADED) * done / len(asked)
            self._context.progress(share, f"pass {done + 1} of {len(asked)}", stage="asking the base")
            objective.ask_base(network, batch)
        chance.counts = True

    def _reading(self, done: int, total: int) -> None:
        self._context.breathe()
        self._context.progress(_READ * done / total, f"row {done} of {total}", stage="reading")

    def _loading(self, done: int, total: int) -> None:
        self._context.breathe()
        share = _READ + (_LOADED - _READ) * done / max(1, total)
        self._context.progress(share, "loading the model", stage="loading")
