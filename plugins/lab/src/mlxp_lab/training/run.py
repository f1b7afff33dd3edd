"""The run itself: step by step, with reports, evaluations and checkpoints, until there is nothing more to gain."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import mlx.core as mx

from mlxp_lab.jobs import Cancelled, JobContext, JobFailed
from mlxp_lab.training import checkpoints
from mlxp_lab.training.checkpoints import Kept, Progress
from mlxp_lab.training.curriculum import Curriculum
from mlxp_lab.training.learner import Learner, Stepped
from mlxp_lab.training.lora import Numbers
from mlxp_lab.training.parameters import TrainParameters
from mlxp_lab.training.rates import rate_at

Fraction = Callable[[float], float]
"""From how far the run is to how far the whole job is."""


class Run:
    """One fine-tuning under way.

    Attributes:
        progress: how far it is.
        best: what had been learned at the best evaluation.
    """

    def __init__(
        self,
        parameters: TrainParameters,
        context: JobContext,
        learner: Learner,
        plan: Curriculum,
        digest: str,
    ) -> None:
        """Prepare to run, from where an earlier run of the job was.

        Args:
            parameters: of the job.
            context: of the job.
            learner: to teach.
            plan: what to teach it.
            digest: tells the rows from others.

        Raises:
            JobFailed: the earlier run cannot be gone on with.
        """
        self._asked, self._context, self._learner, self._plan = parameters, context, learner, plan
        self.total = plan.steps(parameters)
        self.progress, self.best = Progress(digest=digest), Numbers()
        kept = checkpoints.load(context.folder, digest) if context.resuming else None
        if kept is not None:
            self.progress, self.best = kept.progress, kept.best
            learner.restore(kept.numbers, kept.optimizer)
            context.log(f"going on behind step {self.progress.step}")

    @property
    def over(self) -> bool:
        """Say whether there is nothing more to do."""
        return self.progress.step >= self.total or self.stopped

    @property
    def stopped(self) -> bool:
        """Say whether it ends before its last step, as evaluations get no better."""
        patience = self._asked.patience
        return patience is not None and self.progress.since_best >= patience

    def go(self, fraction: Fraction) -> None:
        """Run to the end.

        Args:
            fraction: of the whole job.

        Raises:
            JobFailed: the loss has become infinite, or no number.
        """
        if self.progress.step == 0 and not self.progress.history:
            self._evaluate()
        while not self.over:
            self._step()
            done = self.progress.step
            self._context.progress(
                fraction(done / self.total), f"step {done} of {self.total}", stage="training"
            )
            if self._due(self._asked.report_steps) or done == 1:
                self._report()
            if self._due(self._asked.eval_steps):
                self._evaluate()
            if done % self._asked.checkpoint_steps == 0:
                self._save()
            self._breathe()
        self._save()
        self._compare()

    def _step(self) -> None:
        began_s, step = time.monotonic(), self.progress.step
        passes = self._plan.passes(step)
        rate = rate_at(self._asked, step, self.total)
        stepped = self._learner.step(step, rate, passes, self._plan.objective)
        tokens = sum(self._plan.objective.tokens(batch) for batch in passes)
        took_s = time.monotonic() - began_s
        self._check({"loss": stepped.loss, "length of the gradient": stepped.grad_norm}, step + 1)
        self.progress.step += 1
        self.progress.tokens += tokens
        self.progress.seconds += took_s
        self._note(stepped, tokens, took_s)

    def _note(self, stepped: Stepped, tokens: int, took_s: float) -> None:
        said = {"loss": stepped.loss, "grad_norm": stepped.grad_norm, **stepped.told}
        for name, value in {**said, "tokens": tokens, "seconds": took_s}.items():
            self.progress.pending.setdefault(name, []).append(value)

    def _report(self) -> None:
        """Tell what steps have said since the last report, as means."""
        pending, self.progress.pending = self.progress.pending, {}
        tokens, took_s = sum(pending.pop("tokens")), sum(pending.pop("seconds"))
        step = self.progress.step
        told = {name: sum(values) / len(values) for name, values in pending.items()}
        told["learning_rate"] = rate_at(self._asked, step - 1, self.total)
        self.progress.history.append({"step": step, **told})
        self._context.metrics(
            step,
            **told,
            tokens=self.progress.tokens,
            tokens_per_s=tokens / max(took_s, 1e-9),
            peak_bytes=mx.get_peak_memory(),
            epoch=step / self._plan.steps_per_epoch,
        )
        mx.clear_cache()  # passes of other widths leave arrays of other sizes

    def _evaluate(self) -> None:
        """Evaluate with the held-out rows, if there are any, and keep what is the best so far."""
        if not self._plan.exam_passes:
            return
        progress = self.progress
        means = self._learner.evaluated(self._plan.exam_passes, self._plan.exam)
        self._check(means, progress.step)
        told = {f"valid_{name}": value for name, value in means.items()}
        progress.history.append({"step": progress.step, **told})
        self._context.metrics(progress.step, **told)
        if progress.step == 0:  # the base, which nothing is kept of
            return
        if progress.best_loss is None or means["loss"] < progress.best_loss:
            progress.best_loss, progress.best_step = means["loss"], progress.step
            progress.since_best, self.best = 0, self._learner.numbers
        else:
            progress.since_best += 1

    def _compare(self) -> None:
        """Say so if held-out rows are likelier to the base."""
        history, best = self.progress.history, self.progress.best_loss
        base = history[0].get("valid_loss") if history else None
        if base is not None and best is not None and best > base:
            told = f"a loss of {base:.4g}, and {best:.4g} at best with the adapter"
            self._context.log(f"held-out rows are likelier to the base: {told}")

    def _check(self, told: Mapping[str, float], step: int) -> None:
        """End a run that has lost its way; JSON has no such numbers either."""
        for name, value in told.items():
            if not math.isfinite(value):
                raise JobFailed(
                    f"the {name} is {value} at step {step}; take a lower learning_rate, or a lower scale"
                )

    def _breathe(self) -> None:
        """Give way; whoever stops the job finds it saved."""
        try:
            self._context.breathe()
        except Cancelled:
            self._save()
            raise

    def _save(self) -> None:
        kept = Kept(self.progress, self._learner.numbers, self.best, self._learner.kept())
        checkpoints.save(self._context.folder, kept)

    def _due(self, every: int) -> bool:
        return self.progress.step % every == 0 or self.progress.step == self.total
