"""What an adapter may be called, and where it may lie."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlxp_core.errors import BadRequest, SettingsError

_ID = re.compile(r"[\w.:@-]{1,128}")


def check_id(name: str) -> None:
    """Refuse an id that a request could not name: ``+`` and ``,`` stand between ids there, ``none`` means no adapter.

    Raises:
        BadRequest: says what an id looks like.
    """
    if name.lower() == "none":
        raise BadRequest(
            "an adapter cannot be called 'none': requests say so for no adapter", param="adapter"
        )
    if not _ID.fullmatch(name):
        raise BadRequest(
            f"an adapter cannot be called {name!r}; an id has 1 to 128 letters, digits and . _ - : @",
            param="adapter",
        )


def split_mounts(mounts: Sequence[str]) -> dict[str, Path]:
    """Return id -> folder of adapters written as ``ID=FOLDER``.

    Raises:
        SettingsError: one is written otherwise, or two have one id.
    """
    found: dict[str, Path] = {}
    for mount in mounts:
        name, equals, folder = mount.partition("=")
        if not (equals and folder):
            raise SettingsError(
                f"[adapters] mount: {mount!r} must be ID=FOLDER, such as french=adapters/french"
            )
        try:
            check_id(name)
        except BadRequest as error:
            raise SettingsError(f"[adapters] mount: {error.message}") from error
        if name in found:
            raise SettingsError(
                f"[adapters] mount: two adapters are called {name!r}; an id means one of them"
            )
        found[name] = Path(folder)
    return found


def inside(path: str, roots: Sequence[Path]) -> Path:
    """Return the folder that a client means, if it lies in one of the roots once every link is followed.

    Args:
        path: absolute, or relative to any of the roots.
        roots: folders that adapters may be mounted from, links followed.

    Raises:
        BadRequest: it lies elsewhere, or is not there.
    """
    try:
        given = Path(path).expanduser()
        places = [given.resolve()] if given.is_absolute() else [(root / given).resolve() for root in roots]
        allowed = [place for place in places if any(place.is_relative_to(root) for root in roots)]
        found = next((place for place in allowed if place.is_dir()), None)
    except (OSError, RuntimeError, ValueError) as error:
        raise BadRequest(f"path {path!r} is no path of this machine: {error}", param="path") from error
    if found is not None:
        return found
    shown = ", ".join(str(root) for root in roots) or "none"
    if not allowed:
        raise BadRequest(
            f"path {path!r} lies in no adapter root ({shown}); move the adapter there, or start the server with "
            "--adapter-root",
            param="path",
        )
    raise BadRequest(f"adapter folder not found: {path!r}; the adapter roots are {shown}", param="path")


def own_root(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """Return the folder of the user's own adapters, which need not exist.

    Args:
        environ: the environment; ``XDG_DATA_HOME`` is honoured.
        home: the user's home directory.
        platform: ``sys.platform``; macOS keeps data in ``~/Library/Application Support``.
    """
    usual = home / ("Library/Application Support" if platform == "darwin" else ".local/share")
    return Path(environ.get("XDG_DATA_HOME") or usual) / "mlxp" / "adapters"
