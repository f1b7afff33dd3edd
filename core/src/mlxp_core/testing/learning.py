"""What it takes to fine-tune a family: its network can be differentiated."""

from typing import cast

import mlx.core as mx
import pytest
from mlx import nn
from mlx.utils import tree_unflatten

from mlxp_core.contracts import LanguageModel, ModelFamily
from mlxp_core.testing.networks import Session, load

READ = 24
"""Tokens of a row: enough for a pass that goes chunk by chunk."""


class LearningLaws:
    """Laws of families whose adapters are learned."""

    def test_its_terms_can_be_learned(
        self, family: ModelFamily, network: LanguageModel, text: list[int]
    ) -> None:
        """Every linear layer that adapters may attach to has a slope, finite and not zero."""
        module = cast("nn.Module", network)
        weights = {
            f"{path}.weight": layer.weight
            for path, layer in module.named_modules()
            if isinstance(layer, nn.Linear) and path.rpartition(".")[2] in family.lora_targets
        }
        if not weights:
            pytest.skip("adapters attach to none of its layers")

        def surprise(given: dict[str, mx.array]) -> mx.array:
            module.update(tree_unflatten(list(given.items())))
            logits = Session(network).read([text[:READ]])[0][:-1]
            said = mx.take_along_axis(logits, mx.array(text[1:READ])[:, None], axis=-1)[:, 0]
            lost: mx.array = (mx.logsumexp(logits, axis=-1) - said).mean()
            return lost

        slopes = mx.grad(surprise)(weights)
        load(network, weights)
        assert slopes.keys() == weights.keys()
        for name, slope in slopes.items():
            assert mx.isfinite(slope).all(), f"the slope of {name} is infinite or no number"
            assert mx.abs(slope).max() > 0, (
                f"{name} has no slope: what it says goes nowhere, or its way is cut"
            )
