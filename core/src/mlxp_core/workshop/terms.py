"""The terms of adapters as matrices: by the names their files have for modules, or by the modules of a network."""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx
from mlx import nn

from mlxp_core.adapters import AdapterFolder
from mlxp_core.adapters.factors import Factors, read_factors
from mlxp_core.adapters.fit import fit
from mlxp_core.workshop.model import OpenModel

__all__ = ["Factors", "fitted_terms", "stored_terms"]


def stored_terms(folder: AdapterFolder) -> Mapping[str, Factors]:
    """Return an adapter's terms in float32, by the names of modules as its files have them.

    Raises:
        BadAdapter: the matrices cannot be read.
    """
    return read_factors(folder, {term.module: term for term in folder.terms}, mx.float32)


def fitted_terms(folder: AdapterFolder, model: OpenModel, network: nn.Module) -> Mapping[str, Factors]:
    """Return an adapter's terms in float32, by the paths of modules in a network.

    Args:
        folder: the adapter.
        model: whose network it is.
        network: with plain or packed modules, set or not.

    Raises:
        BadAdapter: it is for another network, or the matrices cannot be read.
    """
    fitting = fit(folder, dict(network.named_modules()), model.family)
    return read_factors(folder, fitting.terms, mx.float32)
