"""The JSON of our own answers."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from mlxp_core.contracts import PluginReport, ProtocolReport, SettingInForce
from mlxp_core.types import Capabilities, Capability, GenerationDefaults


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
        reasoning: whether it can think; this, ``vision`` and ``tools`` stand here too because clients look for them.
        aliases: further names for it.
        adapters: ids of the adapters that requests for it may name.
        state: ``on disk`` = it is loaded when it is asked for.
        pinned: it makes no room for other models, and stays when it is idle.
        defaults: its own sampling recommendations; null where it has none.
        usual: how tokens are drawn for a request that does not say: the deployment's settings over ``defaults``.
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
    capabilities: Capabilities
    aliases: tuple[str, ...]
    adapters: tuple[str, ...]
    state: Literal["loaded", "loading", "on disk"]
    pinned: bool
    vocabulary: int
    weight_bytes: int
    defaults: GenerationDefaults
    usual: GenerationDefaults


class ShelvedModel(Struct, frozen=True, kw_only=True):
    """How a model is, once it was loaded, unloaded, pinned or let loose."""

    id: str
    object: Literal["model"] = "model"
    state: Literal["loaded", "loading", "on disk"]
    pinned: bool
    loads: int


class ModelList(Struct, frozen=True, kw_only=True):
    """All models on offer; the first is the default one."""

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


class ModelSheet(Struct, frozen=True, kw_only=True):
    """What a model can do, and what it therefore cannot be asked for.

    Attributes:
        unavailable: protocol -> request field that is honoured elsewhere -> the capability that this model lacks.
    """

    capabilities: Capabilities
    unavailable: Mapping[str, Mapping[str, Capability]]


class ServiceCard(Struct, frozen=True, kw_only=True):
    """What runs here.

    Attributes:
        model: id of the default model.
        endpoints: every path of every protocol.
        protocols: by name, their paths and what becomes of their request fields.
        models: by id.
    """

    name: str = "mlxp"
    version: str
    model: str | None
    endpoints: tuple[str, ...]
    protocols: Mapping[str, ProtocolReport]
    models: Mapping[str, ModelSheet]


class PluginList(Struct, frozen=True):
    """Every plugin found, switched off and broken ones included."""

    plugins: tuple[PluginReport, ...]


class SettingsInForce(Struct, frozen=True):
    """Every setting of every section, secrets left out."""

    settings: tuple[SettingInForce, ...]


class Cancelled(Struct, frozen=True, kw_only=True):
    """The request that was told to stop."""

    id: str
    cancelled: Literal[True] = True
