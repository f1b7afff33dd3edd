"""Plain values that cross between rooms and to plugins; frozen, and free of any behaviour."""

from mlxp_core.types.content import Call, ImageBytes, ImageUrl, Message, Part, Result, Role, Text, Thinking
from mlxp_core.types.events import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Reason,
    Scored,
    Started,
    TextDelta,
    ThinkingDelta,
    TokenScore,
)
from mlxp_core.types.memory import Budget, Need, Verdict
from mlxp_core.types.model import AdapterInfo, Capabilities, Catalogue, GenerationDefaults, ModelInfo
from mlxp_core.types.records import EngineStats, RequestRecord, Timing, Usage
from mlxp_core.types.request import GenerateRequest, OutputShape, Sampling, ToolChoice, ToolSpec
from mlxp_core.types.settings import EngineSettings, GenerationSettings, PluginSettings, ServerSettings
from mlxp_core.types.wire import WireRequest, WireResponse

__all__ = [
    "AdapterInfo",
    "Budget",
    "Call",
    "CallBroken",
    "CallDelta",
    "CallDone",
    "CallStarted",
    "Capabilities",
    "Catalogue",
    "EngineSettings",
    "EngineStats",
    "Event",
    "Failed",
    "Finished",
    "GenerateRequest",
    "GenerationDefaults",
    "GenerationSettings",
    "ImageBytes",
    "ImageUrl",
    "Message",
    "ModelInfo",
    "Need",
    "OutputShape",
    "Part",
    "PluginSettings",
    "Prefilled",
    "Reason",
    "RequestRecord",
    "Result",
    "Role",
    "Sampling",
    "Scored",
    "ServerSettings",
    "Started",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "Timing",
    "TokenScore",
    "ToolChoice",
    "ToolSpec",
    "Usage",
    "Verdict",
    "WireRequest",
    "WireResponse",
]
