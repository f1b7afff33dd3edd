"""Stages that map the whole vocabulary: the plugins', and the standard ones that come before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import mlx.core as mx

from mlxp_core.contracts.sampling import SamplerStage
from mlxp_core.sampling.chain import Chain, Recipe, Slot
from mlxp_core.sampling.rows import Rows
from mlxp_core.sampling.truncate import Cuts

if TYPE_CHECKING:
    from mlxp_core.contracts.sampling import LogitsMap


class Stages:
    """The maps of a batch in their order, each over all rows that want it at once."""

    def __init__(self, chains: Sequence[Chain], installed: Mapping[str, SamplerStage]) -> None:
        """Build the maps for the rows whose chains these are; they hold until the batch changes."""
        self._maps: list[tuple[Rows, LogitsMap]] = []
        for slot in sorted({slot for chain in chains for slot in chain.whole}):
            at = [row for row, chain in enumerate(chains) if slot in chain.whole]
            wanting = [chains[row] for row in at]
            if slot.plugin:
                build = installed[slot.name].build([chain.settings[slot.name] for chain in wanting])
                chosen = _over_log_probabilities(build)
            else:
                chosen = _standard(slot, [chain.asked for chain in wanting])
            self._maps.append((Rows(at, len(chains)), chosen))

    def __bool__(self) -> bool:
        return bool(self._maps)

    def apply(self, logits: mx.array) -> mx.array:
        """Return ``[rows, n]`` float32 after all stages; rows without stages stay as they are."""
        for rows, chosen in self._maps:
            logits = rows.edit(logits, chosen)
        return logits


def _over_log_probabilities(stage: LogitsMap) -> LogitsMap:
    """Give a plugin's map what its contract promises: normalised, over what is still allowed."""
    return lambda logits: stage(logits - mx.logsumexp(logits, axis=-1, keepdims=True))


def _standard(slot: Slot, recipes: Sequence[Recipe]) -> LogitsMap:
    """Return the map of one standard stage alone."""
    match slot.name:
        case "temperature":
            inverse = mx.array([1 / recipe.temperature for recipe in recipes], dtype=mx.float32)[:, None]
            return lambda logits: logits * inverse
        case "top_p":
            cuts = Cuts([Recipe(top_p=recipe.top_p) for recipe in recipes])
        case "top_k":
            cuts = Cuts([Recipe(top_k=recipe.top_k) for recipe in recipes])
        case _:
            cuts = Cuts([Recipe(min_p=recipe.min_p) for recipe in recipes])
    return cuts.apply
