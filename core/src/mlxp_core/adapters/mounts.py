"""The adapters mounted on one network. Lives on the engine thread.

A module is changed when the first adapter with a term for it is mounted, and is itself again when the last one has
gone; so a network without adapters is exactly the network that was loaded. Mounts have keys of their own: the same
adapter mounted again is another mount, and rows that began with the first go on with it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_unflatten

from mlxp_core.adapters.factors import Factors, read_factors
from mlxp_core.adapters.fit import fit
from mlxp_core.adapters.folder import AdapterFolder, Fitted
from mlxp_core.adapters.lora import AdaptedLinear, Adapter, Choice, Company, Switch
from mlxp_core.contracts import LanguageModel, ModelFamily

KEPT = 8
"""Companies and choices kept: that of the batch, those of rows being prefilled, and a few that come back."""

K = TypeVar("K")
V = TypeVar("V")

Keys = tuple[str, ...]
"""The mounts that one row takes."""


class Mounts:
    """Adapters by key, and which of them the pass under way adds."""

    def __init__(self, model: LanguageModel) -> None:
        """Begin with none, on this network."""
        self._model, self._net = model, cast("nn.Module", model)
        self._mounted: dict[str, Adapter] = {}
        self._adapted: dict[str, AdaptedLinear] = {}
        self._switch = Switch()
        self._companies: OrderedDict[Keys, Company] = OrderedDict()
        self._choices: OrderedDict[tuple[Keys, ...], Choice | None] = OrderedDict()

    def mount(self, key: str, folder: AdapterFolder, family: ModelFamily) -> Fitted:
        """Read an adapter and attach it; rows take it only when ``rows`` says so.

        Args:
            key: what rows call it.
            folder: its files.
            family: of the network; tells modules by their names in checkpoints.

        Raises:
            BadAdapter: it does not fit the network, or its numbers cannot be read; nothing has changed then.
        """
        fitting = fit(folder, dict(self._net.named_modules()), family)
        kind = self._model.embed(mx.zeros((1, 1), dtype=mx.int32)).dtype  # asked for only, never computed
        terms = read_factors(folder, fitting.terms, kind)
        self._mounted[key] = Adapter(key, terms)
        self._attach(terms)
        self._forget()
        size = sum(term.a.nbytes + term.b.nbytes for term in terms.values())
        return Fitted(len(fitting.terms), fitting.unused, size)

    def unmount(self, key: str) -> None:
        """Let go of an adapter; modules that no other one changes are themselves again."""
        terms = self._mounted.pop(key).terms
        self._forget()
        still = {path for adapter in self._mounted.values() for path in adapter.terms}
        alone = [path for path in terms if path not in still]
        self._net.update_modules(tree_unflatten([(path, self._adapted.pop(path).linear) for path in alone]))

    @contextmanager
    def rows(self, taken: Sequence[Keys]) -> Iterator[None]:
        """Have every row of the passes within take its own adapters; afterwards none does.

        Args:
            taken: for each row, the keys of its mounts.
        """
        self._switch.choice = self._choice(tuple(taken)) if any(taken) else None
        try:
            yield
        finally:
            self._switch.choice = None

    def _attach(self, terms: Mapping[str, Factors]) -> None:
        modules = dict(self._net.named_modules())
        fresh = {
            path: AdaptedLinear(modules[path], path, self._switch)
            for path in terms
            if path not in self._adapted
        }
        self._adapted |= fresh
        self._net.update_modules(tree_unflatten(list(fresh.items())))

    def _choice(self, taken: tuple[Keys, ...]) -> Choice | None:
        if taken in self._choices:
            self._choices.move_to_end(taken)
            return self._choices[taken]
        wanted = {key for keys in taken for key in keys if self._mounted[key].terms}
        company = self._company(tuple(key for key in self._mounted if key in wanted))
        rows = [
            frozenset(place for place, each in enumerate(company.adapters) if each.key in keys)
            for keys in taken
        ]
        choice = Choice(company, rows) if wanted else None
        _keep(self._choices, taken, choice)
        return choice

    def _company(self, keys: Keys) -> Company:
        company = self._companies.get(keys)
        if company is None:
            company = Company([self._mounted[key] for key in keys])
        _keep(self._companies, keys, company)
        return company

    def _forget(self) -> None:
        """Let go of what was joined: who is mounted has changed."""
        self._companies.clear()
        self._choices.clear()


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    """Note ``value`` as the newest, and forget what was used longest ago."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > KEPT:
        kept.popitem(last=False)
