"""The lab's own hook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from mlxp_core.contracts import Settings
    from mlxp_lab.generating.template import Template
    from mlxp_lab.jobs import JobKind

hookspec = pluggy.HookspecMarker("mlxp")


@hookspec
def mlxp_lab_jobs(settings: Settings) -> Sequence[JobKind[Any]]:  # type: ignore[empty-body]  # a hookspec has no body
    """Bring kinds of jobs. Called when jobs are asked for and in the process of each; two of one name are an error."""


@hookspec
def mlxp_lab_templates() -> Sequence[Template]:  # type: ignore[empty-body]  # as above
    """Bring templates of datasets. Called when they are listed and in the process of a job; two of one name clash."""
