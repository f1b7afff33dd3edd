"""``[lab]`` of mlxp.toml."""

import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from mlxp_lab.jobs.kind import Chat


class LabSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs on models.

    Attributes:
        folder: what jobs are kept in, with what they make; absent = the user's data folder, ``mlxp/lab`` in it.
        chat: who goes first while a job has the device: ``first`` = answers, ``waits`` = the job,
            ``together`` = neither.
        cpu_jobs: how many jobs that need no device may run at the same time.
        grace_s: how long a job may take to stop; then its process is killed.
        keep_days: jobs that ended longer ago are forgotten, with their logs; what they made stays.
        keep_jobs: so many ended jobs are remembered at most.
    """

    folder: str | None = None
    chat: Chat = "first"
    cpu_jobs: int = 2
    grace_s: float = 10.0
    keep_days: float = 90
    keep_jobs: int = 500


def lab_folder(
    settings: LabSettings, environ: Mapping[str, str], home: Path, platform: str = sys.platform
) -> Path:
    """Return the lab's folder, which need not exist.

    Args:
        settings: of the lab.
        environ: the environment; ``XDG_DATA_HOME`` is honoured.
        home: the user's home directory.
        platform: ``sys.platform``; macOS keeps data in ``~/Library/Application Support``.
    """
    if settings.folder is not None:
        return Path(settings.folder).expanduser().resolve()
    usual = home / ("Library/Application Support" if platform == "darwin" else ".local/share")
    return Path(environ.get("XDG_DATA_HOME") or usual) / "mlxp" / "lab"
