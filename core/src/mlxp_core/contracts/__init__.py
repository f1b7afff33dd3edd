"""The shapes a plugin hands over. Arrays appear in signatures only; importing this loads no mlx."""

from mlxp_core.contracts.caches import AttentionCache, KVPolicy, LayerCache, Positions, Snapshot, StateCache
from mlxp_core.contracts.constraint import Constraint, ConstraintKind, Vocabulary
from mlxp_core.contracts.family import (
    FamilyConfig,
    FolderFacts,
    ImageSpan,
    Inputs,
    LanguageModel,
    ModelFamily,
    RawConfig,
)
from mlxp_core.contracts.formats import (
    CallArguments,
    CallEnd,
    CallName,
    CallSign,
    Malformed,
    ThinkingFormat,
    ToolFormat,
    ToolParser,
)
from mlxp_core.contracts.protocol import Decoded, Encoder, Endpoint, Query, RequestField, WireProtocol
from mlxp_core.contracts.sampling import SamplerStage
from mlxp_core.contracts.services import (
    PluginReport,
    ProtocolReport,
    Services,
    Settings,
    SettingsSection,
    Ticket,
)
from mlxp_core.contracts.vision import (
    Expansion,
    ImagePreparer,
    Pixels,
    VisionConfig,
    VisionNetwork,
    VisionTower,
)

__all__ = [
    "AttentionCache",
    "CallArguments",
    "CallEnd",
    "CallName",
    "CallSign",
    "Constraint",
    "ConstraintKind",
    "Decoded",
    "Encoder",
    "Endpoint",
    "Expansion",
    "FamilyConfig",
    "FolderFacts",
    "ImagePreparer",
    "ImageSpan",
    "Inputs",
    "KVPolicy",
    "LanguageModel",
    "LayerCache",
    "Malformed",
    "ModelFamily",
    "Pixels",
    "PluginReport",
    "Positions",
    "ProtocolReport",
    "Query",
    "RawConfig",
    "RequestField",
    "SamplerStage",
    "Services",
    "Settings",
    "SettingsSection",
    "Snapshot",
    "StateCache",
    "ThinkingFormat",
    "Ticket",
    "ToolFormat",
    "ToolParser",
    "VisionConfig",
    "VisionNetwork",
    "VisionTower",
    "Vocabulary",
    "WireProtocol",
]
