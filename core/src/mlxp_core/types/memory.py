"""Bytes, by arithmetic only."""

from msgspec import Struct


class LayerNeed(Struct, frozen=True, kw_only=True):
    """What one cache of a row holds.

    Attributes:
        number: what the network calls the layer when it asks a ``KVPolicy`` for the cache.
        heads: of keys and values; 0 = the cache holds state, not keys.
        key_dim, value_dim: of one head.
        window: tokens that the layer sees, itself included; ``None`` = all before it.
        state: bytes that do not grow with the context.
        queries: heads that attend to it in one pass.
    """

    number: int = 0
    heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    window: int | None = None
    state: int = 0
    queries: int = 0

    @property
    def values(self) -> int:
        """Return how many numbers the cache keeps of one token."""
        return self.heads * (self.key_dim + self.value_dim)


class Need(Struct, frozen=True, kw_only=True):
    """What a model takes, unquantized.

    Attributes:
        weights: bytes of its parameters.
        idle: bytes of those that one token does not visit: experts that it is not sent to.
        layers: what each cache of a row holds, one each; may be empty where the next two say it.
        fixed: further bytes per row that do not grow.
        per_token: further bytes per row and token of context.
        passing: peak bytes of a pass for each of its tokens, scores of attention aside; see ``passing_values``.
        transient: peak bytes of a pass whatever its width.
    """

    weights: int = 0
    idle: int = 0
    layers: tuple[LayerNeed, ...] = ()
    fixed: int = 0
    per_token: int = 0
    passing: int = 0
    transient: int = 0


def passing_values(*, hidden: int, inner: int, queries: int, kept: int) -> int:
    """Return how many numbers are alive for each token of a pass while it goes through a block.

    The formula is a fit to what ``benchmarks/bench_memory.py`` measures on a processor, where MLX prepares operations
    ahead of those that run; a GPU frees sooner and stays below it.

    Args:
        hidden: width of the residual stream.
        inner: width inside the feed-forward layer, for all experts of a token together.
        queries: heads of the queries times their width.
        kept: keys and values of one token, all heads together.
    """
    return 8 * hidden + 2 * inner + 6 * queries + 3 * kept


class ImageNeed(Struct, frozen=True, kw_only=True):
    """What a tower allocates while it looks at one image, and gives back.

    Attributes:
        passing: numbers alive for each soft token, scores of attention aside.
        patches: of a soft token, each of which attends to all patches of the image.
        heads: that attend; 0 = none does.
        dim: of a head, as it attends.
        scores: most scores that are kept at once where the device does not fuse attention; ``None`` = all of a layer.
    """

    passing: int
    patches: int = 1
    heads: int = 0
    dim: int = 0
    scores: int | None = None


class Budget(Struct, frozen=True):
    """What there is: ``total`` bytes, of which ``reserved`` are spoken for."""

    total: int
    reserved: int = 0

    @property
    def room(self) -> int:
        """Return what is left; negative where too much is spoken for."""
        return self.total - self.reserved


class Verdict(Struct, frozen=True):
    """Whether it fits, and how many tokens of context would."""

    fits: bool
    max_tokens: int
    reason: str = ""
