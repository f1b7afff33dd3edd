"""Which bytes of a model's files one rank holds, by the division of its network. Nothing is read here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.contracts import Cut, Division, FamilyConfig, ModelFamily
from mlxp_core.errors import UnsupportedModel
from mlxp_core.loading.shards import ITEM_BYTES, StoredTensor

_LEAVES = frozenset({"weight", "scales", "biases", "bias"})


class Slice(Struct, frozen=True):
    """What a rank holds of a tensor.

    Attributes:
        tensor: the whole.
        axis: along which it is cut.
        runs: begin and end of each piece along that axis, which are joined; none = it is not cut.
        absent: it is another rank's, and zeros stand for it.
    """

    tensor: StoredTensor
    axis: int = 0
    runs: tuple[tuple[int, int], ...] = ()
    absent: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the pieces together."""
        whole = self.tensor.shape
        if not self.runs:
            return whole
        return (*whole[: self.axis], sum(end - begin for begin, end in self.runs), *whole[self.axis + 1 :])

    @property
    def nbytes(self) -> int:
        """Return how many bytes of the file that takes."""
        return 0 if self.absent else math.prod(self.shape) * ITEM_BYTES[self.tensor.dtype]

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield where the bytes are: place in the file, and how many; in the order in which they are joined."""
        if not self.runs:
            yield self.tensor.begin, self.nbytes
            return
        shape = self.tensor.shape
        step = math.prod(shape[self.axis + 1 :]) * ITEM_BYTES[self.tensor.dtype]
        for row in range(math.prod(shape[: self.axis])):
            start = self.tensor.begin + row * shape[self.axis] * step
            for begin, end in self.runs:
                yield start + begin * step, (end - begin) * step


class Part(Struct, frozen=True):
    """The part of a network that the ``rank``-th of ``ranks`` processes holds."""

    division: Division
    rank: int
    ranks: int

    def slice_of(self, parameter: str, tensor: StoredTensor) -> Slice:
        """Return what the rank holds of a tensor that is stored for a parameter.

        Raises:
            UnsupportedModel: the tensor cannot be divided.
        """
        path, _, leaf = parameter.rpartition(".")
        module = path if leaf in _LEAVES else parameter
        cut = _named(module, self.division.cuts)
        dims = len(tensor.shape)
        if cut is None or dims == 0:
            return Slice(tensor)
        if dims == 1 and cut.axis == "inputs":
            return Slice(tensor, absent=self.rank > 0)
        axis = _axis(cut, dims)
        return Slice(tensor, axis, tuple(self._runs(parameter, tensor.shape[axis], cut)))

    def _runs(self, parameter: str, length: int, cut: Cut) -> Iterator[tuple[int, int]]:
        shares, mine = self.ranks // cut.copies, self.rank // cut.copies
        runs = cut.runs or (length,)
        if sum(runs) != length or any(run % shares for run in runs):
            raise UnsupportedModel(
                f"{parameter}: {length} along its axis of {cut.axis} cannot be divided among {shares} ranks"
            )
        start = 0
        for run in runs:
            size = run // shares
            yield start + mine * size, start + (mine + 1) * size
            start += run


def part_of(family: ModelFamily, config: FamilyConfig, rank: int, ranks: int) -> Part:
    """Return the part of a family's network that one rank holds.

    Raises:
        UnsupportedModel: the network cannot be divided among so many.
    """
    if family.divide is None:
        raise UnsupportedModel(
            f"{family.name}: its networks cannot be divided among ranks; serve it with one"
        )
    return Part(family.divide(config, ranks), rank, ranks)


def cut_shapes(tensors: Mapping[str, StoredTensor], part: Part) -> dict[str, StoredTensor]:
    """Return tensors, by parameter, as the rank holds them: with the shapes of their slices."""
    return {
        name: replace(tensor, shape=part.slice_of(name, tensor).shape) for name, tensor in tensors.items()
    }


def _named(module: str, cuts: Mapping[str, Cut]) -> Cut | None:
    """Return the cut under the longest ending of a module's path."""
    names = module.split(".")
    endings = (".".join(names[first:]) for first in range(len(names)))
    return next((cuts[ending] for ending in endings if ending in cuts), None)


def _axis(cut: Cut, dims: int) -> int:
    match cut.axis:
        case "outputs":
            return max(0, dims - 2)
        case "inputs":
            return dims - 1
        case "first":
            return 0
