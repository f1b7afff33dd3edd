"""From settings of the stage ``hlg`` to its map over rows, each row in the mode it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import mlx.core as mx

from mlxp_curves.hlg import Hlg
from mlxp_curves.literal import eotf, oetf, pipeline
from mlxp_curves.roll_off import roll_off
from mlxp_curves.shaper import Shaper

if TYPE_CHECKING:
    from mlxp_core.contracts.sampling import LogitsMap

_LITERAL: Mapping[str, LogitsMap] = {
    "oetf": oetf,
    "eotf": eotf,
    "pipeline": pipeline,
    "shaper": Shaper(),
}


def shape(settings: Sequence[Hlg]) -> LogitsMap:
    """Return the map of rows with these settings."""
    wanted = ["parametric" if row.straight else row.mode for row in settings]
    modes = sorted(set(wanted))
    places = {mode: [at for at, asked in enumerate(wanted) if asked == mode] for mode in modes}
    maps = {mode: _one(mode, [settings[at] for at in places[mode]]) for mode in modes}
    if len(modes) == 1:
        return maps[modes[0]]
    back = sorted(range(len(wanted)), key=[at for mode in modes for at in places[mode]].__getitem__)

    def apply(rows: mx.array) -> mx.array:
        parts = [maps[mode](rows[mx.array(places[mode])]) for mode in modes]
        return mx.concatenate(parts)[mx.array(back)]

    return apply


def _one(mode: str, settings: Sequence[Hlg]) -> LogitsMap:
    return _LITERAL.get(mode) or roll_off(settings)
