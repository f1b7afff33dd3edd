"""The hook that this plugin declares."""

from collections.abc import Sequence

import pluggy

from mlxp_core.contracts import Settings
from mlxp_webui.page import Page

hookspec = pluggy.HookspecMarker("mlxp")


@hookspec
def mlxp_webui_pages(settings: Settings) -> Sequence[Page]:  # type: ignore[empty-body]  # a hookspec has no body
    """Bring pages of the web app."""
