"""What the hub has of a model: its files, their sizes and their hashes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

from huggingface_hub import HfApi, constants
from huggingface_hub.utils import build_hf_headers
from msgspec import Struct

from mlxp_hub.errors import HubError, said_plainly
from mlxp_hub.refs import Ref
from mlxp_hub.settings import HubSettings

WANTED = (
    "*.safetensors",
    "*.json",
    "*.jinja",
    "*.model",
    "*.txt",
    "1_Pooling/*.json",
    "additional_chat_templates/*.jinja",
)
"""What a server may read of a model's files. ``*`` stays within a folder."""

NEEDLESS = ("consolidated*.safetensors", "pytorch_model*", "tf_model*", "flax_model*")
"""The same weights once more, and indices of them."""

_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class RemoteFile(Struct, frozen=True, kw_only=True):
    """One file on the hub.

    Attributes:
        path: within the repository.
        digest: its hash in hexadecimal, which is also the name of its blob in the cache.
        hashed: ``sha256`` of its content, for large files; ``git`` = as git hashes a blob, for small ones.
    """

    path: str
    size: int
    digest: str
    hashed: Literal["sha256", "git"]


class Listing(Struct, frozen=True, kw_only=True):
    """One revision of a model on the hub: ``ref`` as it was asked for, and the commit that it is now."""

    ref: Ref
    commit: str
    files: tuple[RemoteFile, ...]


class Hub:
    """A hub, and who asks it."""

    def __init__(self, settings: HubSettings) -> None:
        """Know where it is; nothing is asked yet."""
        self.endpoint = (settings.endpoint or constants.ENDPOINT).rstrip("/")
        self.headers = {**build_hf_headers(token=settings.token), "accept-encoding": "identity"}
        self._api = HfApi(endpoint=self.endpoint, token=settings.token)

    def listing(self, ref: Ref) -> Listing:
        """Return those files of a revision that a server may read.

        Raises:
            HubError: there is none, it may not be had, or it is nothing that could be served.
        """
        with said_plainly(ref, self.endpoint):
            told = self._api.model_info(ref.repo, revision=ref.revision, files_metadata=True)
        files = [_file(ref, each) for each in told.siblings or ()]
        chosen = wanted(files)
        if not any(file.path.endswith(".safetensors") for file in chosen):
            kinds = sorted({PurePosixPath(file.path).suffix for file in files} - {"", ".md", ".json"})
            raise HubError(
                f"{ref} holds no .safetensors weights, but {', '.join(kinds) or 'no files'}; "
                "choose a model in MLX's format"
            )
        if not _DIGEST.fullmatch(told.sha or ""):
            raise HubError(f"{self.endpoint} does not say which commit {ref} is; is it a hub?")
        return Listing(ref=ref, commit=str(told.sha), files=tuple(chosen))

    def url(self, listing: Listing, file: RemoteFile) -> str:
        """Return the address of a file."""
        return f"{self.endpoint}/{listing.ref.repo}/resolve/{listing.commit}/{quote(file.path)}"


def wanted(files: Sequence[RemoteFile]) -> list[RemoteFile]:
    """Return the files that a server may read, by path."""
    chosen = [file for file in files if _matches(file.path, WANTED) and not _matches(file.path, NEEDLESS)]
    return sorted(chosen, key=lambda file: file.path)


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(path.count("/") == pattern.count("/") and fnmatchcase(path, pattern) for pattern in patterns)


def _file(ref: Ref, told: Any) -> RemoteFile:
    """Return a file as the hub tells it.

    Raises:
        HubError: its path leads out of the model's folder, or size or hash are missing.
    """
    large = told.lfs
    digest, size = (large.sha256, large.size) if large else (told.blob_id, told.size)
    safe = (
        ".." not in told.rfilename.split("/")
        and not told.rfilename.startswith("/")
        and "\\" not in told.rfilename
    )
    if not safe or not isinstance(size, int) or not _DIGEST.fullmatch(digest or ""):
        raise HubError(
            f"the hub's entry for {told.rfilename!r} of {ref} cannot be trusted; nothing was fetched"
        )
    return RemoteFile(path=told.rfilename, size=size, digest=digest, hashed="sha256" if large else "git")
