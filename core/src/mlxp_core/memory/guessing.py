"""What guessing ahead takes: more draws at once, and states from before a pass that may be gone back into.

The pass itself is no wider than a chunk of a prompt, whose room is there while rows decode.
"""

from __future__ import annotations

from msgspec.structs import replace

from mlxp_core.memory.admission import Account
from mlxp_core.types import EngineSettings


def with_guesses(account: Account, settings: EngineSettings) -> Account:
    """Return what a model takes, and reads, whose rows guess as the settings say."""
    if not settings.guessing:
        return account
    counted = account.footprint
    draws = 1 + settings.speculate_tokens
    more = replace(counted, vocabulary=draws * counted.vocabulary, fixed=2 * counted.fixed)
    return replace(account, footprint=more)
