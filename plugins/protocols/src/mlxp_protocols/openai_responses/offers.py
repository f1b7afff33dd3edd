"""What the model is offered stands for which tool of the client: custom tools and namespaces, as functions."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

CUSTOM_INPUT = "input"
"""The one argument of the function that stands for a custom tool."""


class Offer(Struct, frozen=True):
    """A tool of the client by its own name."""

    kind: Literal["function", "custom"]
    name: str
    namespace: str | None = None


Offers = Mapping[str, Offer]
"""By the name that the model knows."""


def offered_name(name: str, namespace: str | None) -> str:
    """Return the name that the model knows a tool by."""
    if not namespace:
        return name
    return f"{namespace.removesuffix('__')}__{name}"


def offer_of(offers: Offers, called: str) -> Offer:
    """Return what a call means; a name that was never offered is passed on as a function."""
    return offers.get(called, Offer("function", called))
