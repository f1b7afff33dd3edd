"""Which modules of a network can be packed."""

from __future__ import annotations

from mlx import nn

from mlxp_core.workshop.parts import Quantizable
from mlxp_lab.quantize.plan import Module

_LEAST_DIMENSIONS = 2


def modules_of(network: nn.Module) -> list[Module]:
    """Return them in the network's order: those that know a packed form; norms and convolutions do not."""
    return [
        Module(path, tuple(module["weight"].shape))
        for path, module in network.named_modules()
        if isinstance(module, Quantizable) and module["weight"].ndim >= _LEAST_DIMENSIONS
    ]
