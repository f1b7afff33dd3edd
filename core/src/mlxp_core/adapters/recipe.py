"""The configuration of an adapter: how strongly it counts, what it was trained on, and what in it we do not have.

Two ways of saying it are in use. Trainers on MLX write ``lora_parameters``, whose ``scale`` holds for every module.
PEFT writes ``lora_alpha`` and ``r``: a module's scale is ``alpha / r``, or ``alpha / sqrt(r)`` with ``use_rslora``
(Kalajdzievski: "A Rank Stabilization Scaling Factor for Fine-Tuning with LoRA", 2023), and ``alpha_pattern`` and
``rank_pattern`` give single modules other values.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from mlxp_core.adapters.base import plain_name
from mlxp_core.errors import BadAdapter, ModelFolderError
from mlxp_core.loading.files import read_object, where

CONFIGS = ("optiq_lora_config.json", "adapter_config.json")
"""Names of the configuration; the first that is there counts."""

V = TypeVar("V")
W = TypeVar("W")

MLX_SCALE = 20.0
PEFT_ALPHA = 16.0
"""What is meant where the file does not say."""

_REFUSED: Mapping[str, str] = {
    "use_dora": "DoRA changes the length of weights, not only their direction",
    "lora_bias": "biases of low-rank terms are not supported",
    "fan_in_fan_out": "transposed base layers (fan_in_fan_out) are not supported",
    "modules_to_save": "whole modules (modules_to_save) are not supported, only low-rank terms",
    "layer_replication": "repeated layers (layer_replication) are not supported",
    "trainable_token_indices": "trained token embeddings are not supported",
    "target_parameters": "terms for bare parameters (target_parameters), such as stacks of experts, are not supported",
    "alora_invocation_tokens": "terms that begin at a token (aLoRA) are not supported",
}
"""Keys of a configuration that ask for more than low-rank terms, and what to say when they are set."""

_OTHER_WEIGHTS = ("pissa", "olora", "corda", "loftq")
"""Ways of initialization that change the base's weights, which the adapter's own files do not hold."""


class Recipe(Struct, frozen=True, kw_only=True):
    """What a configuration says.

    Attributes:
        scale: of every module, or ``None`` where it follows from ``alpha`` and rank.
        rank: of modules without a pattern of their own; ``None`` = as their matrices say.
        alpha: of modules without a pattern of their own.
        rooted: whether ``alpha`` is divided by the root of the rank.
        alphas, ranks: values of single modules: pattern -> value. A pattern is a regular expression for the end of a
            module's path.
        base_model: what it was trained on.
    """

    scale: float | None = None
    rank: int | None = None
    alpha: float = PEFT_ALPHA
    rooted: bool = False
    alphas: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    base_model: str | None = None

    def scale_of(self, module: str, rank: int) -> float:
        """Return what the terms of a module are multiplied by.

        Args:
            module: its path, as the adapter's files have it.
            rank: of its matrices.

        Raises:
            BadAdapter: the configuration gives the module another rank, so that its scale is anybody's guess.
        """
        if self.scale is not None:
            return self.scale
        told = _of_pattern(self.ranks, module, self.rank)
        if told is not None and told != rank:
            raise BadAdapter(f"{module} has matrices of rank {rank}, and its configuration says {told}")
        alpha = _of_pattern(self.alphas, module, self.alpha)
        return alpha / (math.sqrt(rank) if self.rooted else rank)

    def usual_scale(self, rank: int) -> float:
        """Return the scale of a module of this rank for which there is no pattern."""
        if self.scale is not None:
            return self.scale
        return self.alpha / (math.sqrt(rank) if self.rooted else rank)


def read_recipe(folder: Path) -> Recipe:
    """Return what the configuration of an adapter's folder says.

    Raises:
        BadAdapter: there is none, it is damaged, or it asks for more than low-rank terms.
    """
    path = next((folder / name for name in CONFIGS if (folder / name).is_file()), None)
    if path is None:
        raise BadAdapter(f"{folder.name}: no {' and no '.join(reversed(CONFIGS))}; is the adapter complete?")
    try:
        config = read_object(path)
    except ModelFolderError as error:
        raise BadAdapter(error.message) from error
    try:
        _refuse(config)
        return _recipe(config)
    except BadAdapter as error:
        raise BadAdapter(f"{where(path)}: {error.message}") from error


def _recipe(config: Mapping[str, Any]) -> Recipe:
    base = _base_model(config)
    match config.get("lora_parameters"):
        case dict() as parameters:
            scale = _number(parameters, "lora_parameters.scale", MLX_SCALE)
            return Recipe(scale=scale, rank=_rank(parameters.get("rank"), "rank"), base_model=base)
        case _:
            alphas = _pattern(config, "alpha_pattern")
            ranks = _pattern(config, "rank_pattern")
            return Recipe(
                rank=_rank(config.get("r"), "r"),
                alpha=_number(config, "lora_alpha", PEFT_ALPHA),
                rooted=config.get("use_rslora") is True,
                alphas={key: _number(alphas, key, PEFT_ALPHA) for key in alphas},
                ranks={key: rank for key in ranks if (rank := _rank(ranks[key], key)) is not None},
                base_model=base,
            )


def _refuse(config: Mapping[str, Any]) -> None:
    kind = config.get("peft_type") or config.get("fine_tune_type") or "lora"
    if str(kind).lower() != "lora":
        raise BadAdapter(f"it is of the kind {kind!r}, and only LoRA can be mounted")
    for key, why in _REFUSED.items():
        if config.get(key):
            raise BadAdapter(f"{key} is set: {why}")
    if config.get("bias") not in {None, "none", False}:
        raise BadAdapter(f"bias is {config['bias']!r}: trained biases are not supported, only low-rank terms")
    begun = config.get("init_lora_weights")
    if isinstance(begun, str) and begun.lower().startswith(_OTHER_WEIGHTS):
        raise BadAdapter(
            f"init_lora_weights is {begun!r}: it goes with changed weights of the base; convert it to plain LoRA"
        )


def _base_model(config: Mapping[str, Any]) -> str | None:
    names = (config.get(key) for key in ("source_model", "base_model_name_or_path", "model"))
    return next((plain_name(name) for name in names if isinstance(name, str) and name), None)


def _pattern(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    given = config.get(key) or {}
    if not isinstance(given, dict):
        raise BadAdapter(f"{key} must be an object: pattern of module names -> value")
    for pattern in given:
        try:
            re.compile(pattern)
        except re.error as error:
            raise BadAdapter(f"{key}: {pattern!r} is no regular expression: {error}") from error
    return given


def _of_pattern(patterns: Mapping[str, V], module: str, usual: W) -> V | W:
    """Return the value of the first pattern that is the end of a module's path, from a dot on."""
    matching = (value for pattern, value in patterns.items() if re.fullmatch(rf"(.*\.)?({pattern})", module))
    return next(matching, usual)


def _number(given: Mapping[str, Any], name: str, usual: float) -> float:
    value = given.get(name.rpartition(".")[2] if name not in given else name, usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadAdapter(f"{name} must be a number, not {value!r}")
    return float(value)


def _rank(value: object, name: str) -> int | None:
    if value is None:
        return None
    if type(value) is not int or value < 1:
        raise BadAdapter(f"{name} must be a whole number from 1 on, not {value!r}")
    return value
