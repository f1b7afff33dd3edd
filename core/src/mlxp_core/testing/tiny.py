"""A complete model folder for any family: random weights, and a tokenizer and chat template that go with them."""

from pathlib import Path

from mlxp_core.contracts import ModelFamily, RawConfig
from mlxp_core.loading.sketch import write_sketch
from mlxp_core.loading.sketch_tokenizer import END, TURN_END, sketch_tokenizer
from mlxp_core.testing.networks import parameters

LEAST_VOCABULARY = len(sketch_tokenizer()["model"]["vocab"])
"""Tokens of the tokenizer that is written: the network must have a row for each."""


def write_tiny_model(folder: Path, family: ModelFamily, config: RawConfig, *, seed: int = 0) -> Path:
    """Write a model folder that ``family`` claims and loads; the same arguments write the same bytes.

    The tensors have the network's own names, as a quantizer saves them. The tokenizer has MiniCPM5's special tokens,
    and the template writes ChatML.

    Args:
        folder: where; made if absent.
        family: whose network it is.
        config: config.json of a network with a few small layers.
        seed: of the weights.

    Returns:
        ``folder``.

    Raises:
        ValueError: when the network has fewer logits than the tokenizer has tokens.
    """
    network = family.build(family.config(config))
    shapes = {name: tuple(value.shape) for name, value in parameters(network).items()}
    vocabulary = _vocabulary(config)
    if vocabulary < LEAST_VOCABULARY:
        raise ValueError(
            f"config: vocab_size is {vocabulary}, and the tokenizer has {LEAST_VOCABULARY} tokens"
        )
    ends = {"bos_token_id": 0, "eos_token_id": [END, TURN_END], "pad_token_id": END}
    return write_sketch(folder, config={**config, **ends}, shapes=shapes, seed=seed)


def _vocabulary(config: RawConfig) -> int:
    """Return ``vocab_size`` of the text part, or of the whole."""
    size = config.get("text_config", config).get("vocab_size", config.get("vocab_size", 0))
    return int(size)
