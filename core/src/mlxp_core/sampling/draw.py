"""The last step: from finished logits to one token a row, rows of one route together."""

from collections.abc import Sequence

import mlx.core as mx

from mlxp_core.sampling.chain import WIDTHS, Chain, Route
from mlxp_core.sampling.inverse import invert
from mlxp_core.sampling.rows import Rows
from mlxp_core.sampling.truncate import Cuts, likeliest


class Group:
    """The rows of a batch that go one route."""

    def __init__(self, route: Route, at: Sequence[int], chains: Sequence[Chain]) -> None:
        """Gather the settings of the rows ``at`` of the batch with these chains."""
        recipes = [chains[row].rest for row in at]
        self.route = route
        self.rows = Rows(at, len(chains))
        self._cuts = Cuts(recipes)
        inverses = [1 / recipe.temperature if recipe.temperature else 1.0 for recipe in recipes]
        self._inverse_temperature = mx.array(inverses, dtype=mx.float32)[:, None]

    def draw(self, logits: mx.array, numbers: Sequence[float]) -> mx.array:
        """Return the group's tokens.

        Args:
            logits: ``[batch, n]``, any float type.
            numbers: a uniform number for each row of the group; not looked at by the greedy route.

        Returns:
            ``[group]`` int32.
        """
        own = self.rows.take(logits)
        if self.route == "greedy":
            return mx.argmax(own, axis=-1).astype(mx.int32)
        own = own.astype(mx.float32)
        u = mx.array(list(numbers), dtype=mx.float32)
        if self.route == "plain":
            return invert(self._weights(self._cuts.shorten(own), mx.max(own, axis=-1, keepdims=True)), u)
        candidates, ids = likeliest(own, WIDTHS.get(self.route, own.shape[-1]))
        weights = self._weights(candidates, candidates[:, :1])
        chosen = invert(mx.where(self._cuts.keep(candidates, own), weights, 0.0), u)
        return mx.take_along_axis(ids, chosen[:, None], axis=-1)[:, 0]

    def _weights(self, logits: mx.array, top: mx.array) -> mx.array:
        """Return what the chances are proportional to; the likeliest token's is 1."""
        return mx.exp((logits - top) * self._inverse_temperature)


def groups(chains: Sequence[Chain]) -> list[Group]:
    """Sort the rows of a batch by route."""
    routes: dict[Route, list[int]] = {}
    for row, chain in enumerate(chains):
        routes.setdefault(chain.route, []).append(row)
    return [Group(route, at, chains) for route, at in routes.items()]
