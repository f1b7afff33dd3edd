"""Who fits: of models, of requests for ever, and of rows now. Pure arithmetic over a ``Footprint`` and a budget.

What is held for a set of rows, at most:

    weights and eyes
    + rows * row(longest)           keys, values and states; the longest row's slots for all
    + row(prompt) for each prefix   a prompt that siblings will fork from, kept apart
    + moving(rows, longest)         one layer twice
    + chunk(chunk, longest)         one prompt is read at a time; or the pass over its largest image, before
    + step(rows, longest) + draw    one token of each row

A request that does not fit alone never fits and is refused with these numbers. One that fits alone waits in line until
it fits beside those that have rows. The prompt cache has what is left: see ``Admission.spare``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.errors import ModelTooLarge, OverBudget
from mlxp_core.memory.footprint import Footprint
from mlxp_core.memory.units import told
from mlxp_core.types import Budget, Verdict

USUAL_ROW = 4096
"""Tokens of a row that a loaded model should have room for beside the others."""

LEAST_ANSWER = 1
"""Tokens of the shortest answer: a prompt that fits with less cannot be answered."""


def demand(
    footprint: Footprint, rows: int, longest: int, *, chunk: int, prefixes: Sequence[int] = (), image: int = 0
) -> int:
    """Return the most bytes that ``rows`` take beside the weights, each of at most ``longest`` tokens.

    Args:
        footprint: of the model.
        rows: how many.
        longest: tokens of the longest, prompt and answer.
        chunk: most tokens of a prompt read at once.
        prefixes: tokens of each prompt that is kept for siblings.
        image: soft tokens of the largest image among them.
    """
    if not rows:
        return 0
    return (
        rows * footprint.row(longest)
        + sum(footprint.row(tokens) for tokens in prefixes)
        + footprint.moving(rows, longest)
        + max(footprint.chunk(min(chunk, longest), longest), footprint.looking(image))
        + footprint.step(rows, longest)
        + footprint.draw(rows)
    )


def verdict(
    footprint: Footprint,
    budget: Budget,
    tokens: int,
    *,
    chunk: int,
    context: int,
    rows: int = 1,
    prefixes: Sequence[int] = (),
    image: int = 0,
) -> Verdict:
    """Say whether ``rows`` of ``tokens`` each fit, and how many tokens each of them could have.

    Args:
        footprint: of the model.
        budget: what there is; the model's own weights are not among what is reserved.
        tokens: of each row, prompt and answer.
        chunk: most tokens of a prompt read at once.
        context: most tokens that the model reads.
        rows: how many at the same time.
        prefixes: tokens of each prompt that is kept for siblings.
        image: soft tokens of the largest image among them.
    """
    room = budget.room - footprint.held

    def too_much(asked: int) -> bool:
        return demand(footprint, rows, asked, chunk=chunk, prefixes=prefixes, image=image) > room

    most = max(0, bisect_left(range(context + 1), True, key=too_much) - 1)
    if tokens <= most:
        return Verdict(fits=True, max_tokens=most)
    wanted = footprint.held + demand(footprint, rows, tokens, chunk=chunk, prefixes=prefixes, image=image)
    return Verdict(
        fits=False,
        max_tokens=most,
        reason=f"{told(wanted)} would be taken ({told(footprint.held)} of it by the model itself), and the memory "
        f"budget is {told(budget.room)}",
    )


class Account(Struct, frozen=True):
    """One model: what it takes, and how many tokens it reads."""

    footprint: Footprint
    context: int


class Admission:
    """The memory of one server: a budget, and the models that share it. Knows no arrays, and never changes."""

    def __init__(
        self,
        accounts: Mapping[str, Account],
        total: int,
        *,
        chunk: int,
        staying: Collection[str] | None = None,
        loaded: Collection[str] | None = None,
        check: bool = True,
    ) -> None:
        """Take the models in.

        Args:
            accounts: by model id.
            total: bytes that all of them may take, what is computed and what is kept included.
            chunk: most tokens of a prompt read at once.
            staying: models that never leave the memory, so that no other can have their room; ``None`` = all.
            loaded: models that are in the memory now; ``None`` = all.
            check: whether each model must have room for an answer.

        Raises:
            ModelTooLarge: the weights of one, and of those that stay, leave no room for a single answer; says what is
                missing.
        """
        self.total = total
        self._accounts = dict(accounts)
        self._chunk = chunk
        self._staying = frozenset(accounts if staying is None else staying)
        self._loaded = frozenset(accounts if loaded is None else loaded)
        for model, account in accounts.items() if check else ():
            self._check_model(model, account)

    def beside(
        self,
        loaded: Collection[str],
        staying: Collection[str],
        adapters: Mapping[str, Sequence[int]] | None = None,
    ) -> Admission:
        """Return the same memory at another moment.

        Args:
            loaded: models that are in the memory then.
            staying: those that do not make room.
            adapters: model -> numbers of each adapter that is mounted on it; ``None`` = as now.
        """
        accounts = self._accounts
        if adapters is not None:
            accounts = {
                model: replace(account, footprint=account.footprint.adapted(adapters.get(model, ())))
                for model, account in accounts.items()
            }
        return Admission(accounts, self.total, chunk=self._chunk, staying=staying, loaded=loaded, check=False)

    def together(self, models: Collection[str]) -> bool:
        """Say whether models may be loaded at the same time: each has room for an answer of usual length."""
        room = self.total - self._weights(models)
        return all(room >= self.demand(model, [self._usual(model)]) for model in models)

    def _usual(self, model: str) -> int:
        """Return the tokens of a usual row, or of the longest that fits when all who can leave have left."""
        return min(USUAL_ROW, self.longest(model))

    def _weights(self, models: Collection[str]) -> int:
        return sum(self._accounts[model].footprint.held for model in models)

    def _check_model(self, model: str, account: Account) -> None:
        if self.longest(model):
            return
        least = demand(account.footprint, 1, 1 + LEAST_ANSWER, chunk=self._chunk)
        held = self._weights({model, *self._staying})
        raise ModelTooLarge(
            f"{model} does not fit: all weights take {told(held)} ({held} bytes), the shortest answer "
            f"{told(least)} more, and the memory budget is {told(self.total)} ({self.total} bytes); take a smaller or "
            "a quantized model, or raise memory_budget"
        )

    @property
    def held(self) -> int:
        """Return the bytes of all weights and eyes that are loaded."""
        return self._weights(self._loaded)

    def account(self, model: str) -> Account:
        """Return what is known of a model."""
        return self._accounts[model]

    def budget(self, model: str) -> Budget:
        """Return what a model has at most: the weights of others that stay are reserved."""
        return Budget(self.total, self._weights(self._staying - {model}))

    def verdict(
        self, model: str, tokens: int, *, rows: int = 1, prefixes: Sequence[int] = (), image: int = 0
    ) -> Verdict:
        """Say whether rows of a model fit when nobody else has any; see ``verdict``."""
        account = self._accounts[model]
        return verdict(
            account.footprint,
            self.budget(model),
            tokens,
            chunk=self._chunk,
            context=account.context,
            rows=rows,
            prefixes=prefixes,
            image=image,
        )

    def longest(self, model: str, *, prefixes: Sequence[int] = (), image: int = 0) -> int:
        """Return the most tokens, prompt and answer, that a row of a model can ever have."""
        return self.verdict(model, 0, prefixes=prefixes, image=image).max_tokens

    def check(self, model: str, prompt: int, answer: int, *, choices: int = 1, image: int = 0) -> None:
        """Refuse what can never fit.

        Raises:
            OverBudget: with the numbers, and what would fit.
        """
        prefixes = (prompt,) if choices > 1 else ()
        found = self.verdict(model, prompt + answer, prefixes=prefixes, image=image)
        if found.fits:
            return
        if image and self.verdict(model, prompt + answer, prefixes=prefixes).fits:
            raise OverBudget(
                f"an image of {image} tokens does not fit this machine: {found.reason}; send a smaller one",
                param="messages",
            )
        room = found.max_tokens - prompt
        advice = f"ask for at most {room}" if room >= LEAST_ANSWER else "shorten the prompt"
        raise OverBudget(
            f"prompt ({prompt} tokens) and answer ({answer}) make {prompt + answer}, and no more than "
            f"{found.max_tokens} fit this machine: {found.reason}; {advice}",
            param="max_tokens" if room >= LEAST_ANSWER else "prompt",
        )

    def answer(
        self, model: str, prompt: int, wanted: int, *, asked: bool, choices: int = 1, image: int = 0
    ) -> int:
        """Return how many tokens an answer may have.

        Args:
            model: its id.
            prompt: tokens of the prompt.
            wanted: tokens of the answer, within the model's own context.
            asked: whether the client said so; if not, it is cut to what fits.
            choices: answers to the same prompt.
            image: soft tokens of the largest image in the prompt.

        Raises:
            OverBudget: not even the shortest answer fits, or not what was asked for.
        """
        if not asked:
            most = self.longest(model, prefixes=(prompt,) if choices > 1 else (), image=image) - prompt
            wanted = max(LEAST_ANSWER, min(wanted, most))
        self.check(model, prompt, wanted, choices=choices, image=image)
        return wanted

    def demand(self, model: str, rows: Sequence[int], prefixes: Sequence[int] = (), image: int = 0) -> int:
        """Return the most bytes that rows of a model take beside all weights; ``rows`` are their tokens."""
        return demand(
            self._accounts[model].footprint,
            len(rows),
            max(rows, default=0),
            chunk=self._chunk,
            prefixes=prefixes,
            image=image,
        )

    def spare(self, model: str, rows: Sequence[int], prefixes: Sequence[int] = (), image: int = 0) -> int:
        """Return what these rows leave for what can be given back at any time; negative if they do not fit together."""
        return self.total - self._weights(self._loaded | {model}) - self.demand(model, rows, prefixes, image)
