"""How a model folder says its hidden states are to be pooled.

Models made for embeddings say it in ``1_Pooling/config.json``, as written by sentence-transformers: one switch is on,
such as ``pooling_mode_lasttoken``. Other models say nothing. For them the mean is weighted by position, as a later
token of a causal model has seen more of the text (SGPT, https://arxiv.org/abs/2202.08904, section 3.1).
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mlxp_core.errors import ModelFolderError
from mlxp_core.types import Pooling

PLACE = Path("1_Pooling", "config.json")

_UNSAID: Pooling = "weighted_mean"
_SWITCHES: Mapping[str, Pooling] = {
    "pooling_mode_lasttoken": "last",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_weightedmean_tokens": "weighted_mean",
}


def read_pooling(folder: Path) -> Pooling | None:
    """Return how to pool; ``None`` = in a way that is not made here.

    Raises:
        ModelFolderError: the file is there and is no JSON object.
    """
    path = folder / PLACE
    try:
        said = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    except FileNotFoundError:
        return _UNSAID
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFolderError(f"{folder.name}: {PLACE} cannot be read: {error}") from error
    on = [name for name, value in said.items() if name.startswith("pooling_mode_") and value is True]
    return _SWITCHES.get(on[0]) if len(on) == 1 else None
