"""Prompts that were read before need not be read again: rows kept, found by their tokens, and gone on from.

Nothing here computes. ``pieces`` alone knows of arrays, and only cuts them and puts them together.
"""

from mlxp_core.promptcache.explain import explain, off
from mlxp_core.promptcache.keys import Namespace, outside_images, prompt_key, weights_identity
from mlxp_core.promptcache.store import Found, Store
from mlxp_core.promptcache.tree import PrefixTree, Tokens

__all__ = [
    "Found",
    "Namespace",
    "PrefixTree",
    "Store",
    "Tokens",
    "explain",
    "off",
    "outside_images",
    "prompt_key",
    "weights_identity",
]
