"""Which module of a network each term of an adapter is for. Everything is checked before anything is changed.

Adapters name modules as the checkpoint does that they were trained on, so the family's own ``rename``, which knows
every spelling of a weight, tells their place. A layer that was trained but that the network does without (Gemma 4's
last layers share the keys of earlier ones) is passed over; anything else without a place is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mlx import nn
from msgspec import Struct

from mlxp_core.adapters.folder import AdapterFolder, Term
from mlxp_core.adapters.lora import AdaptedLinear
from mlxp_core.contracts import ModelFamily
from mlxp_core.errors import BadAdapter
from mlxp_core.nn import ExpertStack, QuantizedExpertStack

_WRAPPER = "language_model."
"""What conversions put before the names of a text network that was part of a multimodal model, or take away."""

_WORD_BITS = 32


class Fit(Struct, frozen=True):
    """Module path -> its term, and the modules that were trained in vain."""

    terms: Mapping[str, Term]
    unused: tuple[str, ...]


def fit(folder: AdapterFolder, modules: Mapping[str, nn.Module], family: ModelFamily) -> Fit:
    """Find the module of every term.

    Args:
        folder: the adapter.
        modules: of the network, by path.
        family: whose network it is.

    Raises:
        BadAdapter: a term has no module, one of another shape, or one that takes no adapters; or none is left.
    """
    terms: dict[str, Term] = {}
    unused = []
    for term in folder.terms:
        path = _path(term, modules, family)
        if path is None:
            unused.append(term.module)
            continue
        if path in terms:
            raise BadAdapter(
                f"{folder.path.name}: {terms[path].module} and {term.module} are both {path} of the network"
            )
        _check(term, path, modules[path], family)
        terms[path] = term
    if not terms:
        raise BadAdapter(
            f"{folder.path.name}: none of its {len(folder.terms)} modules is one of the network; is it for this model?"
        )
    return Fit(terms, tuple(unused))


def dims(module: nn.Module) -> tuple[int, int] | None:
    """Return inputs and outputs of a linear layer; ``None`` for any other module."""
    match module:
        case AdaptedLinear(linear=linear):
            return dims(linear)
        case nn.QuantizedLinear():
            return module.weight.shape[-1] * _WORD_BITS // module.bits, module.weight.shape[0]
        case nn.Linear():
            return module.weight.shape[-1], module.weight.shape[0]
        case _:
            return None


def _path(term: Term, modules: Mapping[str, nn.Module], family: ModelFamily) -> str | None:
    """Return the path of a term's module; ``None`` for a layer that the network does without."""
    paths = [path for path in _spellings(term.module, family.rename) if path is not None]
    for path in paths:
        if path in modules:
            return path
    for path in paths:
        parent, _, last = path.rpartition(".")
        if last in family.lora_targets and parent in modules:
            return None
    raise BadAdapter(
        f"{term.module} (A {list(term.a.shape)}, B {list(term.b.shape)}) is no module of the text network of "
        f"{family.name}; is the adapter for another model, or for its eyes?"
    )


def _spellings(module: str, rename: Callable[[str], str | None]) -> Iterator[str | None]:
    """Yield the paths that a module may have in the network, as named and with the wrapper added or taken away."""
    for name in (module, module.removeprefix(_WRAPPER), _WRAPPER + module):
        parameter = rename(f"{name}.weight")
        yield None if parameter is None else parameter.removesuffix(".weight")


def _check(term: Term, path: str, module: nn.Module, family: ModelFamily) -> None:
    match module:
        case ExpertStack() | QuantizedExpertStack():
            raise BadAdapter(f"{term.module} is a stack of experts, and adapters for those are not supported")
        case _:
            found = dims(module)
    if found is None or path.rpartition(".")[2] not in family.lora_targets:
        raise BadAdapter(
            f"{term.module} takes no adapters; in {family.name} these do: {', '.join(family.lora_targets) or 'none'}"
        )
    inputs, outputs = found
    a, b = (shape[::-1] if term.turned else shape for shape in (term.a.shape, term.b.shape))
    if (a[0], b[1]) != (inputs, outputs):
        raise BadAdapter(
            f"{term.module}: A {list(term.a.shape)} and B {list(term.b.shape)} go from {a[0]} to {b[1]} numbers, and "
            f"the module goes from {inputs} to {outputs}; the adapter is for another model"
        )
