"""A folder goes to the hub: files by LFS, counted as they are read, then one commit of all of them.

What has arrived of large files is not sent again, by this push or a later one; before the commit nobody sees it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from logging import ERROR, getLogger
from pathlib import Path
from threading import Event, Lock

from huggingface_hub import CommitOperationAdd, HfApi, constants, get_token
from huggingface_hub.utils import disable_progress_bars
from msgspec import Struct

from mlxp_hub.cards import card_for
from mlxp_hub.errors import LOGIN, HubError, pushed_plainly, unsigned
from mlxp_hub.parcel import CARD, Parcel, without_home
from mlxp_hub.settings import HubSettings
from mlxp_hub.transfer import Stopped


class Sent(Struct, frozen=True, kw_only=True):
    """What has come of a push.

    Attributes:
        url: of the repository.
        commit: that holds all files.
        files: of the commit, those that were there already among them.
        size_bytes: likewise.
    """

    url: str
    commit: str
    files: int
    size_bytes: int


Told = Callable[[int, int, str], None]
"""Is told, from several threads, how many bytes of how many are done in a stage: ``hashing`` or ``sending``."""


class Push(Struct, frozen=True, kw_only=True):
    """What is wanted: where to, whether others may see it, and the words of the commit."""

    repo: str
    private: bool = True
    message: str = "Upload with mlxp"


def send(parcel: Parcel, push: Push, settings: HubSettings, told: Told, stop: Event) -> Sent:
    """Send a folder.

    Args:
        parcel: what is sent.
        push: what is wanted.
        settings: where the hub is, and the token.
        told: told how it goes.
        stop: once it is set, the push ends with ``Stopped``.

    Raises:
        HubError: it may not be sent, or the hub cannot be reached.
        Stopped: it was asked to.
    """
    getLogger("huggingface_hub").setLevel(
        ERROR
    )  # it would say of each counted file that Xet is not used for it
    disable_progress_bars()
    api = _api(settings)
    try:
        with pushed_plainly(push.repo, api.endpoint), ExitStack() as open_files:
            url = _room(api, parcel, push)
            counter = _Counter(parcel.size_bytes, told, stop)
            additions = [
                open_files.enter_context(_addition(parcel.folder / path, path, counter))
                for path in parcel.files
            ]
            if not parcel.has_card:
                additions.append(CommitOperationAdd(CARD, card_for(parcel, push.repo).encode()))
            return _sent(api, parcel, push, url, additions, counter)
    except (OSError, RuntimeError, ValueError) as error:  # huggingface-hub wraps the reason once or twice
        if stop.is_set():
            raise Stopped from error
        message = f"{push.repo}: {error}" + (f" {error.__cause__}" if error.__cause__ else "")
        raise HubError(unsigned(message)) from error


def _room(api: HfApi, parcel: Parcel, push: Push) -> str:
    """Make the repository, if it is not there, and return its address.

    Raises:
        HubError: it is there, and others can see it though they should not.
    """
    if not (api.token or get_token()):
        raise HubError(f"{api.endpoint} takes files from users that it knows; {LOGIN}")
    kind = "dataset" if parcel.kind == "dataset" else "model"
    url = str(api.create_repo(push.repo, repo_type=kind, private=push.private, exist_ok=True))
    if push.private and not api.repo_info(push.repo, repo_type=kind).private:
        raise HubError(f"{push.repo} is there already, and public; push it as public, or choose another name")
    return url


def _sent(
    api: HfApi, parcel: Parcel, push: Push, url: str, additions: list[CommitOperationAdd], counter: _Counter
) -> Sent:
    kind = "dataset" if parcel.kind == "dataset" else "model"
    counter.begin("sending")
    api.preupload_lfs_files(push.repo, additions, repo_type=kind, free_memory=False)
    counter.pause()
    commit = api.create_commit(push.repo, additions, commit_message=push.message, repo_type=kind)
    counter.end()
    return Sent(url=url, commit=commit.oid, files=len(additions), size_bytes=parcel.size_bytes)


@contextmanager
def _addition(path: Path, name: str, counter: _Counter) -> Iterator[CommitOperationAdd]:
    """Hash a file, and keep it open to be sent."""
    note = without_home(path, Path.home())
    if note is not None:
        yield CommitOperationAdd(name, note)
        return
    with Counted(path, counter) as file:
        yield CommitOperationAdd(name, file)


class _Counter:
    """How many bytes of each file were read in this stage; a part that is read again does not count twice."""

    def __init__(self, total: int, told: Told, stop: Event) -> None:
        self._total = total
        self._told = told
        self._stop = stop
        self._lock = Lock()
        self._furthest: dict[Path, int] = {}
        self._stage = "hashing"
        self._silent = False

    def begin(self, stage: str) -> None:
        """Begin a stage."""
        with self._lock:
            self._stage, self._furthest, self._silent = stage, {}, False

    def pause(self) -> None:
        """Count no more until the next stage; small files are read once more by a commit."""
        self._silent = True

    def end(self) -> None:
        """Say that everything is done."""
        self._told(self._total, self._total, self._stage)

    def at(self, path: Path, place: int) -> None:
        """Note how far a file was read.

        Raises:
            Stopped: the push is to end.
        """
        if self._stop.is_set():
            raise Stopped
        with self._lock:
            if self._silent:
                return
            self._furthest[path] = max(place, self._furthest.get(path, 0))
            done = min(self._total, sum(self._furthest.values()))
        self._told(done, self._total, self._stage)


class Counted(io.BufferedReader):
    """A file that tells how far it was read."""

    def __init__(self, path: Path, counter: _Counter) -> None:
        """Open it."""
        super().__init__(io.FileIO(path))
        self._path = path
        self._counter = counter

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and tell."""
        content = super().read(size)
        self._counter.at(self._path, self.tell())
        return content


def who(token: str, settings: HubSettings) -> str:
    """Return the name of the user that a token belongs to.

    Raises:
        HubError: the hub does not know it, or cannot be reached.
    """
    api = _api(settings)
    with pushed_plainly("this token", api.endpoint):
        return str(api.whoami(token)["name"])


def _api(settings: HubSettings) -> HfApi:
    return HfApi(endpoint=(settings.endpoint or constants.ENDPOINT).rstrip("/"), token=settings.token)
