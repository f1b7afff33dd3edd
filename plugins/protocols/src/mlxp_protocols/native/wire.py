"""The JSON of our own answers."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from mlxp_core.contracts import PluginReport, ProtocolReport


class Health(Struct, frozen=True, kw_only=True):
    """Whether requests are answered now: ``ready``, ``loading``, ``stopping`` or ``lost`` (``fault`` says why)."""

    status: str
    model: str | None
    fault: str | None


class Alive(Struct, frozen=True):
    """The process answers; nothing more is claimed."""

    status: Literal["alive"] = "alive"


class ModelCard(Struct, frozen=True, kw_only=True):
    """A model in the shape of OpenAI's list, and what it can do.

    Attributes:
        created: seconds since 1970.
        context_window: longest sequence in tokens.
        reasoning: whether it can think.
    """

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "mlxp"
    context_window: int
    reasoning: bool
    vision: bool
    tools: bool
    family: str


class ModelList(Struct, frozen=True, kw_only=True):
    """All models on offer; the first is the default one."""

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


class ServiceCard(Struct, frozen=True, kw_only=True):
    """What runs here.

    Attributes:
        model: id of the default model.
        endpoints: every path of every protocol.
        protocols: by name, their paths and what becomes of their request fields.
    """

    name: str = "mlxp"
    version: str
    model: str | None
    endpoints: tuple[str, ...]
    protocols: Mapping[str, ProtocolReport]


class PluginList(Struct, frozen=True):
    """Every plugin found, switched off and broken ones included."""

    plugins: tuple[PluginReport, ...]


class Cancelled(Struct, frozen=True, kw_only=True):
    """The request that was told to stop."""

    id: str
    cancelled: Literal[True] = True
