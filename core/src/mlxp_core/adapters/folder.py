"""An adapter's folder, read and checked without arrays: which modules have terms, how they are stored, their scale.

A module with the weight ``W``, ``[outputs, inputs]``, gets a term of low rank ``r``: ``y = x W^T + scale (x A) B``
(Hu et al.: "LoRA", 2021). Trainers on MLX store ``A`` as ``[inputs, r]`` and ``B`` as ``[r, outputs]``, under
``<module>.lora_a`` and ``lora_b``; PEFT stores both turned, under ``base_model.model.<module>.lora_A.weight`` and
``lora_B.weight``. Shapes tell which way they lie, and spelling where shapes do not.
"""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from mlxp_core.adapters.recipe import CONFIGS, Recipe, read_recipe
from mlxp_core.errors import BadAdapter, ModelFolderError
from mlxp_core.loading.shards import StoredTensor, read_header
from mlxp_core.promptcache import weights_identity

WEIGHTS = ("adapters.safetensors", "adapter_model.safetensors")
"""Names of the file with the matrices; the first that is there counts."""

_PEFT_PREFIX = "base_model.model."
_HALF = re.compile(r"(?P<module>.+)\.lora_(?P<half>[aAbB])(?:\.default)?(?P<weight>\.weight)?")
_OTHER_KINDS: Mapping[str, str] = {
    "lora_magnitude_vector": "a DoRA magnitude",
    "lora_magnitude_vector.weight": "a DoRA magnitude",
    "m": "a DoRA magnitude",
    "lora_embedding_A": "a term for an embedding",
    "lora_embedding_B": "a term for an embedding",
    "bias": "a bias",
}
_MATRIX = 2


class Half(Struct, frozen=True):
    """One of the two matrices: the name of its tensor, and its shape as stored."""

    tensor: str
    shape: tuple[int, int]


class Term(Struct, frozen=True, kw_only=True):
    """What an adapter adds to one module.

    Attributes:
        module: path of the module as the file has it, without PEFT's prefix.
        a, b: the two halves.
        turned: whether they are stored as ``[r, inputs]`` and ``[outputs, r]``.
        rank: of its halves.
        scale: what the term is multiplied by.
    """

    module: str
    a: Half
    b: Half
    turned: bool
    rank: int
    scale: float


class AdapterFolder(Struct, frozen=True, kw_only=True):
    """What the files of an adapter say.

    Attributes:
        path: the folder.
        file: the file with the matrices.
        terms: one for each module, in the order of their names.
        rank: the largest rank of them.
        scale: of a module without a pattern of its own.
        base_model: what it was trained on, where that is recorded.
        identity: tells its files from any others; see ``weights_identity``.
    """

    path: Path
    file: Path
    terms: tuple[Term, ...]
    rank: int
    scale: float
    base_model: str | None
    identity: str

    @property
    def numbers(self) -> int:
        """Return how many numbers its matrices have."""
        return sum(math.prod(half.shape) for term in self.terms for half in (term.a, term.b))


class Fitted(Struct, frozen=True):
    """What came of mounting an adapter.

    Attributes:
        modules: how many it changes.
        unused: those it was trained on that the network does without.
        size_bytes: of its matrices in memory.
    """

    modules: int
    unused: tuple[str, ...]
    size_bytes: int


def holds_adapter(folder: Path) -> bool:
    """Say whether a folder looks like an adapter's: it has a file of matrices."""
    return any((folder / name).is_file() for name in WEIGHTS)


def open_adapter(path: Path) -> AdapterFolder:
    """Read and check an adapter's folder.

    Raises:
        BadAdapter: it is missing, incomplete, damaged, or asks for more than low-rank terms.
    """
    path = path.expanduser().resolve()
    if not path.is_dir():
        raise BadAdapter(f"adapter folder not found: {path}", param="path")
    recipe = read_recipe(path)
    file = next((path / name for name in WEIGHTS if (path / name).is_file()), None)
    if file is None:
        raise BadAdapter(f"{path.name}: no adapter weights; it needs {' or '.join(WEIGHTS)}")
    try:
        tensors = read_header(file)
    except ModelFolderError as error:
        raise BadAdapter(error.message) from error
    try:
        terms = _terms(tensors, recipe)
    except BadAdapter as error:
        raise BadAdapter(f"{path.name}: {error.message}") from error
    rank = max(term.rank for term in terms)
    usual = recipe.usual_scale(recipe.rank or rank)
    return AdapterFolder(
        path=path,
        file=file,
        terms=terms,
        rank=rank,
        scale=usual,
        base_model=recipe.base_model,
        identity=weights_identity([file, *(path / name for name in CONFIGS if (path / name).is_file())]),
    )


def _terms(tensors: Mapping[str, StoredTensor], recipe: Recipe) -> tuple[Term, ...]:
    halves: dict[
        str, dict[str, tuple[str, bool]]
    ] = {}  # module -> half -> tensor, and whether PEFT spells so
    for name in tensors:
        found = _HALF.fullmatch(name)
        if found is None:
            raise BadAdapter(
                f"tensor {name!r} is {_kind(name)}; only low-rank terms of linear layers can be mounted"
            )
        module, half = found["module"].removeprefix(_PEFT_PREFIX), found["half"].lower()
        pair = halves.setdefault(module, {})
        if half in pair:
            raise BadAdapter(
                f"tensors {pair[half][0]!r} and {name!r} are both the {half.upper()} half of {module}"
            )
        pair[half] = (name, found["half"].isupper() and found["weight"] is not None)
    if not halves:
        raise BadAdapter("the weights hold no low-rank terms")
    return tuple(_term(module, halves[module], tensors, recipe) for module in sorted(halves))


def _term(
    module: str, pair: Mapping[str, tuple[str, bool]], tensors: Mapping[str, StoredTensor], recipe: Recipe
) -> Term:
    missing = {"a", "b"} - pair.keys()
    if missing:
        raise BadAdapter(f"{module} has no {missing.pop().upper()} half; every term needs both")
    (a, turned), (b, _) = pair["a"], pair["b"]
    halves = Half(a, _matrix(a, tensors[a])), Half(b, _matrix(b, tensors[b]))
    turned, rank = _rank(module, halves[0].shape, halves[1].shape, turned=turned)
    scale = recipe.scale_of(module, rank)
    return Term(module=module, a=halves[0], b=halves[1], turned=turned, rank=rank, scale=scale)


def _rank(module: str, a: tuple[int, int], b: tuple[int, int], *, turned: bool) -> tuple[bool, int]:
    """Return which way the halves lie, and the rank they then share.

    Both ways are possible where a module has as many inputs as outputs; the lower rank is the one that is meant.
    """
    ranks = {}
    if a[0] == b[1]:
        ranks[True] = a[0]
    if a[1] == b[0]:
        ranks[False] = a[1]
    if not ranks:
        raise BadAdapter(f"{module}: A is {list(a)} and B is {list(b)}; they share no rank")
    way = min(ranks, key=lambda way: (ranks[way], way != turned))
    return way, ranks[way]


def _matrix(name: str, tensor: StoredTensor) -> tuple[int, int]:
    match tensor.shape:
        case (int(height), int(width)) if height > 0 and width > 0:
            return height, width
        case (_, _, _):
            raise BadAdapter(
                f"tensor {name!r} is {list(tensor.shape)}, one matrix for each expert; terms for stacks of experts are "
                "not supported"
            )
        case shape:
            raise BadAdapter(f"tensor {name!r} must be a matrix, not {list(shape)}")


def _kind(name: str) -> str:
    """Say what a tensor is that is no half of a term."""
    endings: Iterable[str] = (ending for ending in _OTHER_KINDS if name.endswith(f".{ending}"))
    return next((_OTHER_KINDS[ending] for ending in endings), "part of a whole module")
