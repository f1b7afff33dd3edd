"""Taking models off the disk: through huggingface-hub, which knows what other revisions still need."""

from __future__ import annotations

import shutil
from pathlib import Path

from filelock import FileLock, Timeout
from huggingface_hub import scan_cache_dir
from huggingface_hub.errors import CacheNotFound
from msgspec import Struct

from mlxp_hub.errors import HubError
from mlxp_hub.library import home


class Removable(Struct, frozen=True, kw_only=True):
    """What would go.

    Attributes:
        commits: hashes of the revisions; empty = the whole folder, whatever it holds.
        freed_bytes: what that gives back.
    """

    repo: str
    commits: tuple[str, ...]
    freed_bytes: int


def removable(cache: Path, repo: str, commit: str | None) -> Removable | None:
    """Return what would go with a model, or one revision of it; ``None`` if there is nothing of it.

    Args:
        cache: folder of the models.
        repo: ``owner/name``.
        commit: the revision; ``None`` = all, and what an unfinished download has left.
    """
    folder = home(cache, repo)
    if not folder.is_dir():
        return None
    if commit is None:
        kept = (file.stat() for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
        return Removable(repo=repo, commits=(), freed_bytes=sum(file.st_size for file in kept))
    try:
        plan = scan_cache_dir(cache).delete_revisions(commit)
    except CacheNotFound:
        return None
    return Removable(repo=repo, commits=(commit,), freed_bytes=plan.expected_freed_size)


def remove(cache: Path, what: Removable) -> None:
    """Take it off the disk.

    Raises:
        HubError: it is being downloaded, or cannot be removed.
    """
    place = cache / ".locks" / home(cache, what.repo).name / "mlxp.lock"
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(place, timeout=0):
            if what.commits:
                scan_cache_dir(cache).delete_revisions(*what.commits).execute()
            else:
                shutil.rmtree(home(cache, what.repo))
    except Timeout as error:
        raise HubError(f"{what.repo} is being downloaded; stop that first") from error
    except OSError as error:
        raise HubError(f"{what.repo} cannot be removed: {error}") from error
