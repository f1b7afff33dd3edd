"""What a model is, and what each way of packing it would cost; by the headers of its files alone."""

from __future__ import annotations

from msgspec import Struct

from mlxp_core.workshop import open_model
from mlxp_lab.jobs import Site
from mlxp_lab.quantize.choice import AFFINE_BITS, Choice
from mlxp_lab.quantize.parameters import appraised
from mlxp_lab.quantize.plan import bits_per_weight, plan_bytes, uniform


class Offer(Struct, frozen=True, kw_only=True):
    """One way to pack a model: how large it would be, and whether that fits this machine (null = nobody knows)."""

    label: str
    bits: int
    group_size: int
    mode: str
    bits_per_weight: float
    size_bytes: int
    saved: float
    fits: bool | None


class Inspection(Struct, frozen=True, kw_only=True):
    """A model, as it is.

    Attributes:
        family: who claims it.
        modules: how many can be packed.
        weights: numbers in them.
        packed: whether it is packed already; what is lost then is lost on top.
        other_bytes: of what cannot be packed: norms, eyes.
        offers: ways to pack it, smallest first; ``saved`` is the share of ``size_bytes`` that would be gone.
    """

    model: str
    family: str
    size_bytes: int
    modules: int
    weights: int
    packed: bool
    vision: bool
    other_bytes: int
    offers: tuple[Offer, ...]


def inspect(ref: str, site: Site) -> Inspection:
    """Look at a model; loads MLX, computes nothing.

    Raises:
        BadParameters: there is no such model, or nobody claims it.
    """
    from mlxp_core.workshop.parts import network_part  # noqa: PLC0415  # it loads MLX
    from mlxp_lab.quantize.modules import modules_of  # noqa: PLC0415  # as above

    told, path = appraised(ref, site)
    model = open_model(path, site.models)
    part = network_part(model)
    modules = modules_of(part.module)
    inside = {f"{module.path}.weight" for module in modules}
    others = sum(2 * array.size for name, array in part.arrays.items() if name not in inside)
    usable = None if told.fit is None else told.fit.usable_bytes
    offers = []
    for choice in choices():
        plan = uniform(modules, choice)
        size = plan_bytes(modules, plan) + others
        offers.append(
            Offer(
                label=choice.label,
                bits=choice.bits,
                group_size=choice.group_size,
                mode=choice.mode,
                bits_per_weight=round(bits_per_weight(modules, plan), 3),
                size_bytes=size,
                saved=round(1 - size / told.weight_bytes, 4),
                fits=None if usable is None else size <= usable,
            )
        )
    return Inspection(
        model=told.name,
        family=told.family or "",
        size_bytes=told.weight_bytes,
        modules=len(modules),
        weights=sum(module.weights for module in modules),
        packed=bool(part.packings),
        vision=told.vision,
        other_bytes=others,
        offers=tuple(sorted(offers, key=lambda offer: offer.size_bytes)),
    )


def choices() -> list[Choice]:
    """Return the ways to pack that are offered."""
    affine = [Choice(bits, group) for bits in AFFINE_BITS for group in (32, 64, 128)]
    return [*affine, Choice(4, 32, "mxfp4"), Choice(8, 32, "mxfp8"), Choice(4, 16, "nvfp4")]
