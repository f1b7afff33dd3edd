"""What this plugin brings: the sampler stages ``hlg`` and ``curve``, and the endpoints to try them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlxp_core import hookimpl
from mlxp_core.contracts import SamplerStage, WireProtocol
from mlxp_curves.curve import Curve
from mlxp_curves.decode import CurveDecoder
from mlxp_curves.hlg import Hlg
from mlxp_curves.protocol import make_protocol

if TYPE_CHECKING:
    from mlxp_core.contracts.sampling import LogitsMap


def build_hlg(settings: Sequence[Hlg]) -> LogitsMap:
    """Return the map of rows with these settings."""
    from mlxp_curves.modes import shape

    return shape(settings)


def build_curve(settings: Sequence[Curve]) -> LogitsMap:
    """Return the map of rows with these curves."""
    from mlxp_curves.bend import bend

    return bend(settings)


HLG = SamplerStage(
    name="hlg", order=450, params=Hlg, build=build_hlg, replaces=frozenset({"top_p", "top_k", "min_p"})
)

CURVE = SamplerStage(
    name="curve",
    order=480,
    params=Curve,
    build=build_curve,
    replaces=frozenset({"top_p", "top_k", "min_p", "temperature"}),
)


@hookimpl
def mlxp_sampler_stages() -> list[SamplerStage]:
    """Return the two stages."""
    return [HLG, CURVE]


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Return the one protocol."""
    return [make_protocol(CurveDecoder(lambda: f"curve-{uuid.uuid4().hex}"))]
