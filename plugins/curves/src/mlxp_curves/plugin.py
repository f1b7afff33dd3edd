"""What this plugin brings: the sampler stages ``hlg`` and ``curve``, endpoints to try them, and a page to draw them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlxp_core import hookimpl
from mlxp_core.contracts import SamplerStage, WireProtocol
from mlxp_curves.curve import Curve
from mlxp_curves.decode import CurveDecoder
from mlxp_curves.hlg import Hlg
from mlxp_curves.protocol import make_protocol

if TYPE_CHECKING:
    from mlxp_core.contracts.sampling import LogitsMap
    from mlxp_webui import Page


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


@hookimpl(optionalhook=True)  # without the web app nobody asks
def mlxp_webui_pages() -> list[Page]:
    """Return the designer."""
    from mlxp_webui import Page

    return [
        Page(
            id="curves",
            title="Curves",
            icon="M4 4v16h16M7 17c6 0 4-10 12-11",
            folder=Path(__file__).parent / "page",
            module="page.js",
            order=60,
        )
    ]
