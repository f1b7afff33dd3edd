"""Every hook, in four groups: the map for plugin authors.

Hooks are called at start, when a model reference is resolved, and when a request ends; never per token. An
implementation may leave arguments out. Arguments are only ever added.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click
    from litestar.types import ControllerRouterHandler

    from mlxp_core.contracts import (
        Appraise,
        ConstraintKind,
        ModelFamily,
        SamplerStage,
        Services,
        Settings,
        SettingsSection,
        ThinkingFormat,
        ToolFormat,
        VisionTower,
        WireProtocol,
    )
    from mlxp_core.types import MeasuredSpeed, ModelChoice, ModelInfo, RequestRecord

hookspec = pluggy.HookspecMarker("mlxp")

# ── Set up ──────────────────────────────────────────────────────────────────────────────────────────────────────


@hookspec
def mlxp_add_hookspecs(manager: pluggy.PluginManager) -> None:
    """Add hook specifications of your own with ``manager.add_hookspecs``, as the lab does for job kinds."""


@hookspec
def mlxp_settings_sections() -> Sequence[SettingsSection]:  # type: ignore[empty-body]  # a hookspec has no body
    """Declare the tables of mlxp.toml that you own."""


# ── Register: called once; two objects of one kind and name are an error ────────────────────────────────────────


@hookspec
def mlxp_model_families(settings: Settings) -> Sequence[ModelFamily]:  # type: ignore[empty-body]  # as above
    """Bring model families."""


@hookspec
def mlxp_tool_formats(settings: Settings) -> Sequence[ToolFormat]:  # type: ignore[empty-body]  # as above
    """Bring formats of tool calls."""


@hookspec
def mlxp_thinking_formats(settings: Settings) -> Sequence[ThinkingFormat]:  # type: ignore[empty-body]  # as above
    """Bring formats of thinking."""


@hookspec
def mlxp_vision_towers(settings: Settings) -> Sequence[VisionTower]:  # type: ignore[empty-body]  # as above
    """Bring vision towers."""


@hookspec
def mlxp_protocols(settings: Settings) -> Sequence[WireProtocol]:  # type: ignore[empty-body]  # as above
    """Bring API surfaces."""


@hookspec
def mlxp_sampler_stages(settings: Settings) -> Sequence[SamplerStage]:  # type: ignore[empty-body]  # as above
    """Bring sampler stages."""


@hookspec
def mlxp_constraints(settings: Settings) -> Sequence[ConstraintKind]:  # type: ignore[empty-body]  # as above
    """Bring kinds of structured output."""


@hookspec
def mlxp_routes(services: Services) -> Sequence[ControllerRouterHandler]:  # type: ignore[empty-body]  # as above
    """Bring Litestar routes, for what is no wire protocol: pages, admin calls."""


@hookspec
def mlxp_commands() -> Sequence[click.Command]:  # type: ignore[empty-body]  # as above
    """Bring subcommands of ``mlxp``."""


# ── Resolve ─────────────────────────────────────────────────────────────────────────────────────────────────────


@hookspec(firstresult=True)
def mlxp_resolve_model(ref: str, settings: Settings) -> Path | None:
    """Turn a model reference into a folder, or return ``None`` to let others try. The first answer wins."""


@hookspec(firstresult=True)
def mlxp_default_model(settings: Settings, appraise: Appraise) -> ModelChoice | None:
    """Choose the model to serve where none was named, or return ``None`` to let others try. The first answer wins."""


@hookspec(firstresult=True)
def mlxp_measured_speed(model: Path, settings: Settings) -> MeasuredSpeed | None:
    """Say how fast the model in a folder was on this machine, or return ``None``. The first answer wins."""


# ── Observe: on the event-loop thread; a failure is logged and counted, never raised ────────────────────────────


@hookspec
def mlxp_started(services: Services) -> None:
    """The server accepts requests."""


@hookspec
def mlxp_model_loaded(model: ModelInfo) -> None:
    """A model is ready."""


@hookspec
def mlxp_request_finished(record: RequestRecord) -> None:
    """A choice of a request ended, well or not."""


@hookspec
def mlxp_stopping() -> None:
    """The server is about to stop."""
