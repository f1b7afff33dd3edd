"""A model family: how to recognize a checkpoint, how to build it, which formats it speaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from mlxp_core.types import Need

if TYPE_CHECKING:
    import mlx.core as mx

    from mlxp_core.contracts.caches import KVPolicy, LayerCache, Positions
    from mlxp_core.contracts.division import Division

RawConfig = Mapping[str, Any]
"""config.json as parsed; ``Any`` ends in the family's ``config`` reader."""

FamilyConfig = Any
"""Whatever the family's ``config`` reader returned; opaque to everybody else."""


class ImageSpan(Struct, frozen=True):
    """A run of image tokens: absolute ``start`` in the sequence, ``count`` tokens, ``grid`` (frames, rows, columns)."""

    start: int
    count: int
    grid: tuple[int, int, int]

    @property
    def end(self) -> int:
        """Return the place behind the last of them."""
        return self.start + self.count


class Inputs(Struct, frozen=True, kw_only=True):
    """One forward pass over rows of a batch.

    Attributes:
        tokens: ``[rows, width]`` int32, padded on the right; image positions keep their placeholder ids.
        at: where each row stands and how many of its ``width`` tokens are real.
        embeddings: ``[rows, width, hidden]``, to use in place of looking up ``tokens``; image features are in it.
        images: per row, the spans that overlap this pass; empty when no row has had an image.
        past_images: per row, the spans that ended before this pass, for networks whose positions follow from the
            images before them; in step with ``images``.
    """

    tokens: mx.array
    at: Positions
    embeddings: mx.array | None = None
    images: tuple[tuple[ImageSpan, ...], ...] = ()
    past_images: tuple[tuple[ImageSpan, ...], ...] = ()


class LanguageModel(Protocol):
    """A network (an ``mlx.nn.Module``), called on the engine thread only."""

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return the last hidden states, final norm included: ``[rows, width, hidden]``. Writes to ``caches``."""
        ...

    def logits(self, hidden: mx.array) -> mx.array:
        """Return scores ``[..., vocabulary]`` for hidden states ``[..., hidden]``."""
        ...

    def embed(self, tokens: mx.array) -> mx.array:
        """Return input embeddings ``[rows, width, hidden]`` as ``__call__`` would look them up."""
        ...

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return empty caches for one row, one for each layer that keeps state, through ``policy``."""
        ...

    def update(self, parameters: dict[str, Any]) -> object:
        """Set parameters, as ``mlx.nn.Module`` does."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameter tree, as ``mlx.nn.Module`` does."""
        ...


class DraftNetwork(Protocol):
    """A small network (an ``mlx.nn.Module``) that guesses ahead of a ``LanguageModel``; engine thread only."""

    def __call__(self, inputs: Inputs, hidden: mx.array, caches: Sequence[LayerCache]) -> mx.array:
        """Return hidden states ``[rows, width, hidden]``, which the language model's ``logits`` scores.

        Args:
            inputs: for each token of ``hidden``, the one that follows it; ``at`` and ``images`` are those of the
                former. ``embeddings`` is set, by the language model's ``embed``.
            hidden: ``[rows, width, hidden]``, what the language model returned for the tokens before, or what this
                network did, to guess further.
            caches: this network's own; written to.
        """
        ...

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return empty caches for one row, as a ``LanguageModel`` does."""
        ...


class DraftHead(Struct, frozen=True, kw_only=True):
    """A draft network that checkpoints of a family may hold beside the network itself. Loaded only when asked for.

    Attributes:
        name: for messages.
        build: configuration -> draft network with unset parameters. Imports mlx inside.
        rename: checkpoint tensor name -> parameter name; ``None`` drops the tensor. The family's own ``rename`` drops
            what this one keeps.
        need: configuration and bytes per stored value -> bytes, by arithmetic (unquantized); ``fixed`` is the hidden
            state of each row that waits for the token behind it.
        convert: change renamed tensors that need more than a new name; may be absent. If nothing is left then, the
            checkpoint has no draft network.
        float32: endings of parameter names that are float32 whatever type the other weights are served in.
        mlx_name: parameter name -> what its tensor is called in new files; ``rename`` takes it back. Absent = the same.
    """

    name: str
    build: Callable[[FamilyConfig], DraftNetwork]
    rename: Callable[[str], str | None]
    need: Callable[[FamilyConfig, int], Need]
    convert: Callable[[MutableMapping[str, mx.array], FamilyConfig], None] | None = None
    float32: tuple[str, ...] = ()
    mlx_name: Callable[[str], str] | None = None


class FolderFacts(Struct, frozen=True, kw_only=True):
    """What a family may look at to tell its own checkpoints from others with the same ``model_type``."""

    config: RawConfig
    template: str
    special_tokens: frozenset[str]


class ModelFamily(Struct, frozen=True, kw_only=True):
    """One family. Callables that need arrays import mlx inside, so that listing plugins stays quick.

    Attributes:
        name: unique; what ``mlxp plugins`` shows.
        model_types: values of config.json's ``model_type`` that it claims; two claims of one checkpoint are an error.
        recognize: a closer look, where ``model_type`` alone is too wide; absent = every such checkpoint.
        config: validate config.json, or raise ``UnsupportedModel``.
        build: configuration -> network with unset parameters.
        rename: checkpoint tensor name -> parameter name; ``None`` drops the tensor. Quantized parts
            (``.scales``, ``.biases``) follow their ``.weight``.
        convert: change renamed tensors that need more than a new name (split, turn, shift); may be absent.
        need: configuration and bytes per stored value -> bytes, by arithmetic (unquantized).
        tool_format, thinking_format, vision_tower: names of registered formats.
        lora_targets: last components of module paths that adapters may attach to.
        float32: endings of parameter names that are float32 whatever type the other weights are served in.
        whole_images: whether tokens of one image look ahead at each other, so that a pass must hold all of an image
            or nothing of it; absent = images may be cut anywhere.
        embeddings: whether hidden states of a text, pooled, say what the text is about.
        draft_head: the draft network its checkpoints may hold; absent = they hold none.
        mlx_name: parameter name and config.json -> what MLX conversions of such a checkpoint call its tensor, which is
            what new files are written with; ``rename`` takes it back. Absent = the same.
        divide: configuration and number of ranks -> the network of one of them; raises ``UnsupportedModel`` where it
            cannot be divided so. Absent = never.
    """

    name: str
    model_types: tuple[str, ...]
    config: Callable[[RawConfig], FamilyConfig]
    build: Callable[[FamilyConfig], LanguageModel]
    rename: Callable[[str], str | None]
    need: Callable[[FamilyConfig, int], Need]
    recognize: Callable[[FolderFacts], bool] | None = None
    convert: Callable[[MutableMapping[str, mx.array], FamilyConfig], None] | None = None
    tool_format: str | None = None
    thinking_format: str | None = None
    vision_tower: str | None = None
    lora_targets: tuple[str, ...] = ()
    float32: tuple[str, ...] = ()
    whole_images: Callable[[FamilyConfig], bool] | None = None
    embeddings: bool = True
    draft_head: DraftHead | None = None
    mlx_name: Callable[[str, RawConfig], str] | None = None
    divide: Callable[[FamilyConfig, int], Division] | None = None
