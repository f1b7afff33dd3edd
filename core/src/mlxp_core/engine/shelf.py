"""The models loaded now, and the towers of those that have been shown an image. Lives on the engine thread."""

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from contextlib import AbstractContextManager

from msgspec.structs import replace

from mlxp_core.adapters import AdapterFolder, Fitted
from mlxp_core.adapters.mounts import Mounts
from mlxp_core.contracts import VisionNetwork
from mlxp_core.engine.garbage import collect_everywhere
from mlxp_core.engine.orders import LoadPlan, Mount, Unmount
from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.speculation.drafting import load_drafter
from mlxp_core.engine.warming import warm
from mlxp_core.errors import EngineFault, MlxpError, Unavailable
from mlxp_core.loading.network import Network, load_network
from mlxp_core.loading.tower import load_tower

Load = Callable[[LoadPlan, Callable[[int, int], None]], Network]


def load_plan(plan: LoadPlan, progress: Callable[[int, int], None]) -> Network:
    """Carry out a plan, to the point where the model is ready to be used."""
    network = load_network(
        plan.folder,
        plan.family,
        plan.config,
        dtype=plan.dtype,
        used=plan.used,
        kv=plan.kv,
        progress=progress,
    )
    network = replace(network, drafter=load_drafter(plan, network, progress))
    warm(network)
    return network


class Shelf:
    """Networks by model id."""

    def __init__(
        self, plans: Mapping[str, LoadPlan], *, halted: Callable[[], bool], load: Load = load_plan
    ) -> None:
        """Begin empty.

        Args:
            plans: how to load each model.
            halted: asked while loading; once true, loading gives up.
            load: carries out a plan.
        """
        self._plans = plans
        self._halted = halted
        self._load = load
        self._networks: dict[str, Network] = {}
        self._towers: dict[str, VisionNetwork] = {}
        self._mounts: dict[str, Mounts] = {}
        self._adapters: dict[str, dict[str, AdapterFolder]] = {model: {} for model in plans}

    def load(self, model: str) -> None:
        """Load a model.

        Raises:
            ModelFolderError: its files are incomplete, damaged or not what its family expects.
            Unavailable: loading was halted.
        """
        plan = self._plans[model]

        def progress(done: int, total: int) -> None:
            if self._halted():
                raise Unavailable(f"loading {model!r} was stopped after {done} of {total}")
            if plan.progress is not None:
                plan.progress(done, total)

        network = self._load(plan, progress)
        mounts = Mounts(network.model)
        for key, folder in self._adapters[model].items():
            mounts.mount(key, folder, plan.family)
        self._networks[model], self._mounts[model] = network, mounts

    def unload(self, model: str) -> None:
        """Let go of a model and its eyes. Its adapters are remembered, and mounted again with it."""
        del self._networks[model], self._mounts[model]
        self._towers.pop(model, None)
        collect_everywhere()

    def adapt(self, message: Mount | Unmount) -> Fitted | None:
        """Mount an adapter on a model that is loaded, and say what it changes; or let go of one that no row takes.

        Raises:
            BadAdapter: it does not fit.
        """
        model, folders = message.model, self._adapters[message.model]
        match message:
            case Mount(key=key, folder=folder):
                fitted = self._mounts[model].mount(key, folder, self._plans[model].family)
                folders[key] = folder
                return fitted
            case Unmount(key=key):
                del folders[key]
                if model in self._mounts:
                    self._mounts[model].unmount(key)
                return None

    def adapters(self, rows: SequenceOf[Sequence]) -> AbstractContextManager[None]:
        """Have every row of the passes within take its own adapters; all rows are of one model."""
        mounts = self._mounts[rows[0].order.model]
        return mounts.rows([row.order.adapters for row in rows])

    def tower(self, model: str) -> VisionNetwork:
        """Return a model's vision tower, loading it when it is first asked for; one that failed is tried again.

        Raises:
            EngineFault: it cannot be loaded.
        """
        if model not in self._towers:
            plan = self._plans[model]
            if plan.eyes is None:
                raise EngineFault(f"{model!r} was shown an image, but has no eyes")
            try:
                self._towers[model] = load_tower(plan.folder, plan.eyes, dtype=plan.dtype)
            except MlxpError as error:
                raise EngineFault(
                    f"{model!r} can see, but its eyes failed to load: {error.message}"
                ) from error
        return self._towers[model]

    def __contains__(self, model: str) -> bool:
        return model in self._networks

    def __getitem__(self, model: str) -> Network:
        return self._networks[model]

    def clear(self) -> None:
        """Let go of everything."""
        self._networks.clear()
        self._towers.clear()
        self._mounts.clear()
