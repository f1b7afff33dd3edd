"""The memory of one server: a machine, a budget, and the models that share it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mlxp_core.memory.admission import Account, Admission
from mlxp_core.memory.fit import Reckon, fit
from mlxp_core.memory.units import parse_bytes
from mlxp_core.types import EngineSettings, Fit, Machine


class MemoryPlan:
    """Made before anything is loaded, so that what does not fit is refused before anything is allocated.

    Attributes:
        machine: what the server runs on.
        total: bytes that all models may take.
        admission: who gets in.
    """

    def __init__(
        self,
        models: Mapping[str, Reckon],
        machine: Machine,
        settings: EngineSettings,
        *,
        staying: Collection[str] = (),
    ) -> None:
        """Weigh the models.

        Args:
            models: model id -> what it takes on a machine.
            machine: this one.
            settings: ``memory_budget`` and ``prefill_chunk`` count.
            staying: models that never make room for others.

        Raises:
            SettingsError: ``memory_budget`` is no amount of memory.
            ModelTooLarge: a model, with those that stay, leaves no room for a single answer.
        """
        self.machine = machine
        self.total = budget_of(settings, machine)
        self._models = {model: by_backend(reckon) for model, reckon in models.items()}
        self._chunk = settings.prefill_chunk
        accounts = {model: reckon(machine) for model, reckon in self._models.items()}
        self.admission = Admission(accounts, self.total, chunk=self._chunk, staying=staying)

    def fit(self, model: str, *, rows: int = 1, context: int | None = None, skus: bool = False) -> Fit:
        """Say how a model fits; see ``mlxp_core.memory.fit``."""
        return fit(
            model,
            self._models[model],
            self.machine,
            self.admission.budget(model),
            chunk=self._chunk,
            rows=rows,
            context=context,
            skus=skus,
        )


def budget_of(settings: EngineSettings, machine: Machine) -> int:
    """Return the bytes that models may take: what the settings say, else what the machine has to spare.

    Raises:
        SettingsError: ``memory_budget`` is no amount of memory.
    """
    if settings.memory_budget is None:
        return machine.usable_bytes
    return parse_bytes(settings.memory_budget, "engine.memory_budget")


def by_backend(reckon: Reckon) -> Reckon:
    """Return the same, remembering: machines of one back end take the same."""
    known: dict[str, Account] = {}

    def remembered(machine: Machine) -> Account:
        if machine.backend not in known:
            known[machine.backend] = reckon(machine)
        return known[machine.backend]

    return remembered
