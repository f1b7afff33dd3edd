"""A built-in plugin: a model reference that is the path of an existing folder."""

from pathlib import Path

from mlxp_core import hookimpl


@hookimpl(tryfirst=True)
def mlxp_resolve_model(ref: str) -> Path | None:
    """Return the folder when ``ref`` names one."""
    path = Path(ref).expanduser()
    return path.absolute() if path.is_dir() else None
