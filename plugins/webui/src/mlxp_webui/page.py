"""What a plugin hands over to add a page to the app."""

import re
from pathlib import Path

from msgspec import Struct

from mlxp_core.errors import PluginError

IDENTITY = re.compile(r"[a-z][a-z0-9-]{0,31}")
ICON = re.compile(r"[MmLlHhVvCcSsQqTtAaZz0-9eE ,.+-]{1,2000}")
TAKEN = frozenset({"chat", "models", "server"})
"""Pages of the app itself."""


class Page(Struct, frozen=True, kw_only=True):
    """One page in the navigation.

    Attributes:
        id: what stands in the address, ``/#/<id>``: lower-case letters, digits and dashes.
        title: what stands in the navigation.
        icon: an SVG path's ``d`` in a box of 24 by 24, drawn as a line.
        folder: of static files, all of which the server hands out to whoever asks, without a key.
        module: the file in it that exports ``mount`` as its default.
        order: place in the navigation; chat is 10, models 20, server 90.
    """

    id: str
    title: str
    icon: str
    folder: Path
    module: str = "page.js"
    order: int = 50

    def __post_init__(self) -> None:
        """Refuse what could not be shown.

        Raises:
            PluginError: says which field, and what it may be.
        """
        if not IDENTITY.fullmatch(self.id) or self.id in TAKEN:
            raise PluginError(
                f"a page's id is lower-case letters, digits and dashes, and none of {', '.join(sorted(TAKEN))}; "
                f"not {self.id!r}"
            )
        if not ICON.fullmatch(self.icon):
            raise PluginError(f"page {self.id}: icon is the d of an SVG path, such as 'M4 4h16v16H4z'")
        if not (self.folder / self.module).is_file():
            raise PluginError(f"page {self.id}: there is no {self.module} in {self.folder}")
