"""The pages that plugins bring, asked for once, checked, and put in order."""

import logging
from collections.abc import Callable, Iterable, Sequence

from mlxp_core.errors import PluginError
from mlxp_webui.page import Page

log = logging.getLogger("mlxp.webui")

Ask = Callable[[], Sequence[Page]]


def collect(asks: Iterable[tuple[str, Ask]]) -> tuple[Page, ...]:
    """Return the pages in the order of the navigation; a plugin that fails is logged and has none.

    Args:
        asks: plugin name and what to call for its pages.

    Raises:
        PluginError: two plugins bring a page of one id.
    """
    owners: dict[str, str] = {}
    pages: list[Page] = []
    for plugin, ask in asks:
        for page in _asked(plugin, ask):
            if page.id in owners:
                raise PluginError(
                    f"the plugins {owners[page.id]!r} and {plugin!r} both bring a page {page.id!r}; "
                    "switch one off with --disable"
                )
            owners[page.id] = plugin
            pages.append(page)
    return tuple(sorted(pages, key=lambda page: (page.order, page.id)))


def _asked(plugin: str, ask: Ask) -> Sequence[Page]:
    try:
        pages = tuple(ask())
    except Exception:
        log.exception("plugin %s: its pages are left out", plugin)
        return ()
    wrong = [page for page in pages if not isinstance(page, Page)]
    if wrong:
        log.error("plugin %s: %r is no mlxp_webui.Page; its pages are left out", plugin, wrong[0])
        return ()
    return pages
