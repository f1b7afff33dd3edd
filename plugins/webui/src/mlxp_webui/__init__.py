"""The web app, and the door for pages of other plugins."""

from mlxp_webui.page import Page

__all__ = ["Page"]
