"""From ``Sampling`` to what is to be done with one row, and in which order. No arrays, no mlx."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from mlxp_core.contracts.sampling import SamplerStage, Standard
from mlxp_core.errors import BadRequest
from mlxp_core.types import Sampling

Route = Literal["greedy", "narrow", "medium", "sorted", "plain"]
"""How a row's token is found.

``greedy``: argmax. ``narrow``, ``medium``: among the 64 or 512 likeliest. ``sorted``: among all, likeliest first.
``plain``: among all, in their own order.
"""

WIDTHS: Mapping[Route, int] = {"narrow": 64, "medium": 512}

ORDERS: Mapping[Standard, int] = {"top_p": 200, "top_k": 300, "min_p": 400, "temperature": 500}
"""Places of the standard stages among the plugins', as ``SamplerStage.order`` documents them."""

COLDEST = 1e-6
"""A temperature below this counts as 0: its inverse would leave float32's comfortable range."""


class Recipe(Struct, frozen=True, kw_only=True):
    """Values of the standard stages, each brought to one spelling of "off".

    Attributes:
        temperature: 0 is greedy, 1 does nothing.
        top_p: strictly between 0 and 1, or 0 = off.
        top_k: 1 .. vocabulary - 1, or 0 = off.
        min_p: above 0 up to 1, or 0 = off.
    """

    temperature: float = 1.0
    top_p: float = 0.0
    top_k: int = 0
    min_p: float = 0.0

    @property
    def active(self) -> frozenset[Standard]:
        """The stages that do something."""
        return frozenset(name for name in get_args(Standard) if getattr(self, name) != getattr(NEUTRAL, name))

    @property
    def route(self) -> Route:
        """The cheapest way that gives the exact result."""
        if self.temperature == 0:
            return "greedy"
        if self.top_k:
            return next((route for route, width in WIDTHS.items() if self.top_k <= width), "sorted")
        return "sorted" if self.top_p else "plain"

    def without(self, names: frozenset[Standard]) -> "Recipe":
        """Return the recipe with these stages off."""
        return msgspec.structs.replace(self, **{name: getattr(NEUTRAL, name) for name in names})


NEUTRAL = Recipe()


class Slot(Struct, frozen=True, order=True):
    """A place in the order of stages; at one ``order`` the standard stage comes before plugins, these by name."""

    order: int
    plugin: bool
    name: str


class Chain(Struct, frozen=True, kw_only=True):
    """What is done with one row.

    Attributes:
        asked: the standard stages, without those that a plugin stage replaces.
        whole: what maps the whole vocabulary: plugin stages, and standard ones that come before the last of them.
        settings: decoded settings of the plugin stages, by name.
        rest: the standard stages left over for the draw itself.
    """

    asked: Recipe
    whole: tuple[Slot, ...] = ()
    settings: Mapping[str, Struct] = {}
    rest: Recipe

    @property
    def route(self) -> Route:
        """How the token is found in the end."""
        return self.rest.route


def check_stages(sampling: Sampling, stages: Mapping[str, SamplerStage]) -> dict[str, Struct]:
    """Decode the settings of the plugin stages a request asks for.

    Args:
        sampling: what is asked.
        stages: what is installed, by name.

    Returns:
        The decoded settings by name.

    Raises:
        BadRequest: a stage is not installed, or its settings do not fit its type.
    """
    settings: dict[str, Struct] = {}
    for name, raw in sampling.stages.items():
        stage = stages.get(name)
        if stage is None:
            raise BadRequest(_unknown(name, sorted(stages)), param=f"stages.{name}")
        try:
            settings[name] = msgspec.json.decode(raw, type=stage.params)
        except msgspec.DecodeError as error:
            raise BadRequest(f"sampler stage {name!r}: {error}", param=f"stages.{name}") from error
    return settings


def plan(sampling: Sampling, stages: Mapping[str, SamplerStage], *, size: int) -> Chain:
    """Say what is to be done with a row.

    Args:
        sampling: what is asked; ``None`` leaves a stage off, and the temperature at 1.
        stages: the plugin stages installed, by name.
        size: number of tokens that can be drawn.

    Raises:
        BadRequest: as ``check_stages``.
    """
    settings = check_stages(sampling, stages)
    replaced = frozenset(standard for name in settings for standard in stages[name].replaces)
    asked = _recipe(sampling, size).without(replaced)
    if not settings:
        return Chain(asked=asked, rest=asked)
    plugin_slots = [Slot(stages[name].order, True, name) for name in settings]
    last = max(plugin_slots)
    early = {name for name in asked.active if Slot(ORDERS[name], False, name) < last}
    if asked.temperature == 0:
        early.discard("temperature")
    slots = [Slot(ORDERS[name], False, name) for name in early]
    return Chain(
        asked=asked,
        whole=tuple(sorted(slots + plugin_slots)),
        settings=settings,
        rest=asked.without(frozenset(early)),
    )


def _recipe(sampling: Sampling, size: int) -> Recipe:
    temperature = 1.0 if sampling.temperature is None else sampling.temperature
    top_p = sampling.top_p or 0.0
    top_k = sampling.top_k or 0
    return Recipe(
        temperature=0.0 if temperature < COLDEST else temperature,
        top_p=top_p if 0 < top_p < 1 else 0.0,
        top_k=top_k if 0 < top_k < size else 0,
        min_p=min(1.0, max(0.0, sampling.min_p or 0.0)),
    )


def _unknown(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"sampler stage {name!r} is not installed; {hint}installed: {', '.join(known) or 'none'}"
