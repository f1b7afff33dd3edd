"""Whom a download tells how it goes."""

from typing import Protocol

from mlxp_hub.remote import Listing, RemoteFile


class Watcher(Protocol):
    """Is told from several threads."""

    def planned(self, listing: Listing) -> None:
        """It is known what will be fetched."""
        ...

    def found(self, file: RemoteFile, count: int) -> None:
        """So many bytes of a file were here before."""
        ...

    def moved(self, file: RemoteFile, count: int) -> None:
        """So many more bytes of a file have come; less than nothing where some proved useless."""
        ...

    def arrived(self, file: RemoteFile) -> None:
        """A file is complete and right."""
        ...
