"""A model from the hub to the disk: what is missing is fetched, and the folder appears when all of it is right.

The layout is that of Hugging Face's cache, so other programs find the model too. Blobs first, then the links of the
snapshot, the reference last: what names a revision never names half of one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from filelock import FileLock, Timeout

from mlxp_hub.errors import HubError, said_plainly
from mlxp_hub.library import home
from mlxp_hub.refs import Ref
from mlxp_hub.remote import Hub, Listing, RemoteFile
from mlxp_hub.settings import HubSettings, cache_folder
from mlxp_hub.transfer import PARTIAL, Source, Stopped, Transfer
from mlxp_hub.watcher import Watcher

SPARE_BYTES = 256 << 20
"""What is left free on the disk."""


class Download:
    """The fetching of one revision of a model."""

    def __init__(
        self,
        ref: Ref,
        settings: HubSettings,
        watcher: Watcher,
        *,
        stop: Event | None = None,
        pause: Callable[[float], object] | None = None,
        free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        """Know what to fetch; nothing is done yet.

        Args:
            ref: which model.
            settings: where from and where to.
            watcher: told how it goes.
            stop: once it is set, ``run`` ends with ``Stopped``; what has come so far is kept. Set where a file fails.
            pause: waits so many seconds before another attempt.
            free: returns the free bytes of the disk that a folder is on.
        """
        self._ref = ref
        self._settings = settings
        self._watcher = watcher
        self._stop = stop or Event()
        self._pause = pause
        self._free = free
        self._hub = Hub(settings)
        self._cache = cache_folder(settings)
        self._home = home(self._cache, ref.repo)
        self._blobs = self._home / "blobs"

    def run(self, *, verify: bool = False) -> Path:
        """Fetch what is missing, and return the folder of the model.

        Args:
            verify: hash the files that are here already, too.

        Raises:
            HubError: it cannot be had, another process is at it, the disk is full; says what to do.
            Stopped: it was asked to.
        """
        listing = self._hub.listing(self._ref)
        try:
            self._blobs.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._check_disk(listing)
                self._watcher.planned(listing)
                with said_plainly(self._ref, self._hub.endpoint):
                    self._fetch_all(listing, verify=verify)
                return self._show(listing)
        except OSError as error:  # those of the network have become HubErrors
            raise HubError(
                f"{self._cache} cannot be written: {error}; see [hub] cache and HF_HUB_CACHE"
            ) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other downloads of the same model away; the system lets them in should we die."""
        place = self._cache / ".locks" / self._home.name / "mlxp.lock"
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place, timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            raise HubError(
                f"{self._ref.repo} is being downloaded already; wait until that is done"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _check_disk(self, listing: Listing) -> None:
        missing = {file.digest: file.size - self._here(file) for file in listing.files}
        needed, free = sum(missing.values()), self._free(self._cache)
        if needed and needed + SPARE_BYTES > free:
            raise HubError(
                f"{self._ref} needs {needed / 1e9:.1f} GB more, and the disk of {self._cache} has {free / 1e9:.1f} GB "
                "free; remove a model with `mlxp rm`, or set [hub] cache to a folder on another disk"
            )

    def _here(self, file: RemoteFile) -> int:
        for name in (file.digest, f"{file.digest}{PARTIAL}"):
            with suppress(FileNotFoundError):
                return min(file.size, (self._blobs / name).stat().st_size)
        return 0

    def _fetch_all(self, listing: Listing, *, verify: bool) -> None:
        """Fetch the files, the large ones first; the first that fails ends all."""
        by_digest = {file.digest: file for file in listing.files}
        largest_first = sorted(by_digest.values(), key=lambda file: -file.size)
        with ThreadPoolExecutor(max(1, self._settings.at_once), "mlxp-hub") as pool:
            work = [pool.submit(self._fetch, listing, file, verify=verify) for file in largest_first]
            try:
                wait(work, return_when=FIRST_EXCEPTION)
            finally:  # after an interrupt of the keyboard, too
                if not all(each.done() and each.exception() is None for each in work):
                    self._stop.set()
        faults = [fault for each in work if (fault := each.exception()) is not None]
        for fault in sorted(faults, key=lambda fault: isinstance(fault, Stopped)):
            raise fault

    def _fetch(self, listing: Listing, file: RemoteFile, *, verify: bool) -> None:
        if self._stop.is_set():
            raise Stopped
        source = Source(url=self._hub.url(listing, file), headers=self._hub.headers)
        transfer = Transfer(file, source, self._blobs, self._watcher, stop=self._stop, pause=self._pause)
        transfer.run(verify=verify)
        self._watcher.arrived(file)

    def _show(self, listing: Listing) -> Path:
        """Link the files into a snapshot, and name it."""
        snapshot = self._home / "snapshots" / listing.commit
        for file in listing.files:
            _link(self._blobs / file.digest, snapshot / file.path)
        if listing.ref.revision != listing.commit:
            name = self._home / "refs" / listing.ref.revision
            name.parent.mkdir(parents=True, exist_ok=True)
            name.write_text(listing.commit, "utf-8")
        return snapshot


def _link(blob: Path, place: Path) -> None:
    """Make ``place`` a relative link to ``blob``; a second name for it, or a copy, where there are no links."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    try:
        place.symlink_to(os.path.relpath(blob, place.parent))
    except OSError:  # as on Windows without its developer mode
        try:
            place.hardlink_to(blob)
        except OSError:
            shutil.copyfile(blob, place)
