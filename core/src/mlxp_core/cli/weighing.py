"""From a model folder and the settings to what the model takes; shared by ``serve`` and ``fit``."""

from mlxp_core.contracts import FamilyConfig, ModelFamily
from mlxp_core.engine import LoadPlan
from mlxp_core.errors import SetupError
from mlxp_core.loading.eyes import Eyes
from mlxp_core.loading.folder import ModelFolder
from mlxp_core.loading.kv_config import kv_scheme
from mlxp_core.loading.parts import part_of
from mlxp_core.memory import Account, Reckon, with_guesses
from mlxp_core.types import EngineSettings, Machine


def this_machine_or_fail() -> Machine:
    """Return what arrays are computed on.

    Raises:
        SetupError: MLX has no back end here.
    """
    try:
        from mlxp_core.memory.device import this_machine  # its failure is worth a message
    except ImportError as error:
        raise SetupError(
            f"MLX has no back end on this machine ({error}); install mlxp-core[cpu] for the processor, or "
            "mlxp-core[cuda] for an NVIDIA GPU"
        ) from error
    return this_machine()


def reckon_of(
    folder: ModelFolder,
    family: ModelFamily,
    config: FamilyConfig,
    eyes: Eyes | None,
    settings: EngineSettings,
    draft: LoadPlan | None = None,
    *,
    ranks: int = 1,
) -> Reckon:
    """Return what weighs a model on any machine, run as the settings say.

    Args:
        folder: the model.
        family: which claims it.
        config: as the family read it.
        eyes: its vision tower, if it is served with one.
        settings: type of the weights, how keys and values are kept, and what guesses ahead.
        draft: a smaller model that guesses for it.
        ranks: processes that it is divided among; each takes as much as the first one.

    Raises:
        ModelFolderError: the model's kv_config.json is damaged.
        UnsupportedModel: the model cannot be divided so.
    """
    from mlxp_core.loading.weighing import weigh  # it loads MLX

    scheme = kv_scheme(folder.path, settings)
    part = None if ranks == 1 else part_of(family, config, 0, ranks)

    def reckon(machine: Machine) -> Account:
        beside = None
        if draft is not None:
            beside = weigh(draft.folder, draft.family, draft.config, machine, dtype=draft.dtype, kv=draft.kv)
        own = weigh(
            folder,
            family,
            config,
            machine,
            dtype=settings.dtype,
            kv=scheme,
            eyes=eyes,
            head=settings.by_head,
            draft=beside,
            part=part,
        )
        return with_guesses(own, settings)

    return reckon
