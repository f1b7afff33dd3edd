"""Where things of the user are kept."""

import sys
from collections.abc import Mapping
from pathlib import Path

from mlxp_core import __version__


def cache_folder(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """Return the folder for what can be made again, of this version.

    Args:
        environ: the environment; ``XDG_CACHE_HOME`` is honoured.
        home: the user's home directory.
        platform: ``sys.platform``; macOS keeps caches in ``~/Library/Caches``.
    """
    usual = home / ("Library/Caches" if platform == "darwin" else ".cache")
    return Path(environ.get("XDG_CACHE_HOME") or usual) / "mlxp" / __version__
