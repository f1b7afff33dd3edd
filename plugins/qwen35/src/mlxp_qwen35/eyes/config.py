"""What Qwen 3.5's eyes are built from, read from config.json."""

from math import isqrt
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert

from mlxp_core.contracts import RawConfig
from mlxp_core.errors import UnsupportedModel
from mlxp_qwen35.config import Rate, Size


class TowerConfig(Struct, frozen=True, kw_only=True):
    """What the tower is built from.

    Attributes:
        patch: pixels of a patch, both ways.
        frames: of a patch; a still image is shown in all of them.
        merge: patches of a soft token, both ways.
        positions: learned positions of a side; an image's own lie between them.
        hidden: width of the residual stream.
        inner: width inside the feed-forward.
        layers: how many.
        heads: of queries, keys and values.
        theta: base of the rotary periods.
        language: width of the language model.
    """

    patch: int
    frames: int
    merge: int
    positions: int
    hidden: int
    inner: int
    layers: int
    heads: int
    theta: float
    language: int

    @property
    def side(self) -> int:
        """Return the pixels of a soft token, both ways."""
        return self.patch * self.merge

    @property
    def head_dim(self) -> int:
        """Return the width of a head."""
        return self.hidden // self.heads


class _Rope(Struct, frozen=True):
    rope_theta: Rate = 10000.0
    rope_type: Literal["default", "axial"] = "default"


class _Tower(Struct, frozen=True, kw_only=True):
    """``vision_config``; what differs from size to size must be there."""

    depth: Size
    hidden_size: Size
    intermediate_size: Size
    num_heads: Size
    out_hidden_size: Size
    in_channels: Literal[3] = 3
    patch_size: Size = 16
    temporal_patch_size: Size = 2
    spatial_merge_size: Size = 2
    num_position_embeddings: Size = 2304
    hidden_act: Literal["gelu_pytorch_tanh"] = "gelu_pytorch_tanh"
    deepstack_visual_indexes: Annotated[tuple[int, ...], Meta(max_length=0)] | None = None
    rope_parameters: _Rope | None = None


class _Text(Struct, frozen=True):
    hidden_size: Size


class _Top(Struct, frozen=True):
    text_config: _Text


def read(raw: RawConfig) -> TowerConfig | None:
    """Read what a model sees by; ``None`` = it does not see.

    Raises:
        UnsupportedModel: a key is missing or wrong, or asks for what the tower does not do.
    """
    own: Any = raw.get("vision_config")
    if own is None:
        return None
    try:
        keys, top = convert(own, _Tower), convert(raw, _Top)
    except ValidationError as error:
        raise _unsupported(f"and what belongs to it: {error}") from error
    _check(keys, top.text_config.hidden_size)
    return TowerConfig(
        patch=keys.patch_size,
        frames=keys.temporal_patch_size,
        merge=keys.spatial_merge_size,
        positions=isqrt(keys.num_position_embeddings),
        hidden=keys.hidden_size,
        inner=keys.intermediate_size,
        layers=keys.depth,
        heads=keys.num_heads,
        theta=(keys.rope_parameters or _Rope()).rope_theta,
        language=keys.out_hidden_size,
    )


def _check(keys: _Tower, language: int) -> None:
    """Refuse numbers that contradict each other."""
    if keys.hidden_size % (4 * keys.num_heads):
        raise _unsupported(
            f"has hidden_size {keys.hidden_size} for {keys.num_heads} num_heads; only heads whose width is a "
            f"multiple of 4 can be rotated two ways"
        )
    if isqrt(keys.num_position_embeddings) ** 2 != keys.num_position_embeddings:
        raise _unsupported(f"has {keys.num_position_embeddings} num_position_embeddings, which is no square")
    if keys.out_hidden_size != language:
        raise _unsupported(
            f"has out_hidden_size {keys.out_hidden_size}, but text_config has hidden_size {language}"
        )


def _unsupported(what: str) -> UnsupportedModel:
    return UnsupportedModel(f"qwen35: config.json: vision_config {what}")
