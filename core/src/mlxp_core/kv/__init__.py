"""Caches: what a batch of rows remembers between passes."""

from mlxp_core.kv.batch import BatchCache, RowSnapshot, forward
from mlxp_core.kv.drafter import Drafter
from mlxp_core.kv.full import FullCache
from mlxp_core.kv.policy import PlainPolicy, QuantizedPolicy
from mlxp_core.kv.positions import BatchPositions
from mlxp_core.kv.recurrent import RecurrentCache
from mlxp_core.kv.scheme import policy_for
from mlxp_core.kv.sliding import SlidingCache
from mlxp_core.kv.survey import can_revoke

__all__ = [
    "BatchCache",
    "BatchPositions",
    "Drafter",
    "FullCache",
    "PlainPolicy",
    "QuantizedPolicy",
    "RecurrentCache",
    "RowSnapshot",
    "SlidingCache",
    "can_revoke",
    "forward",
    "policy_for",
]
