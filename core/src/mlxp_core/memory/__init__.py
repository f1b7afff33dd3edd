"""Will it fit: what models take, by arithmetic, and who gets in. Importing it loads no arrays; ``device`` does."""

from mlxp_core.memory.admission import Account, Admission, demand, verdict
from mlxp_core.memory.fit import Reckon, fit
from mlxp_core.memory.footprint import FEATURE_BYTES, Footprint, Look, footprint, look_of
from mlxp_core.memory.guessing import with_guesses
from mlxp_core.memory.plan import MemoryPlan
from mlxp_core.memory.units import parse_bytes, told

__all__ = [
    "FEATURE_BYTES",
    "Account",
    "Admission",
    "Footprint",
    "Look",
    "MemoryPlan",
    "Reckon",
    "demand",
    "fit",
    "footprint",
    "look_of",
    "parse_bytes",
    "told",
    "verdict",
    "with_guesses",
]
