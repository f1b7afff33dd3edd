"""Bodies of ``/api/datasets``."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from msgspec import Meta, Struct, field

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.editing import Edit
from mlxp_lab.datasets.shelf import Card, Split
from mlxp_lab.datasets.tables import Format
from mlxp_lab.datasets.twins import LEAST


class CardList(Struct, frozen=True, kw_only=True):
    """All datasets, newest first."""

    datasets: tuple[Card, ...]


class ImportRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file to make a dataset of.

    Attributes:
        name: of the dataset.
        format: of the file; absent = as ``source`` tells.
        text: the file, where it is text.
        base64: the file, where it is not.
        source: its name.
        columns: field of a row -> column of the file; absent = the file has rows, or a shape that is known.
        skip_faulty: leave records out that are no rows, instead of refusing the file.
        replace: put it in the place of one of that name.
        valid, test: shares of rows to be set aside.
        seed: of the order in which they are.
    """

    name: str
    format: Format | None = None
    text: str | None = None
    base64: str | None = None
    source: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    skip_faulty: bool = False
    replace: bool = False
    valid: float = 0.0
    test: float = 0.0
    seed: int = 0

    def content(self) -> bytes:
        """Return the file.

        Raises:
            BadRequest: there is none, or two, or it is no base64.
        """
        if (self.text is None) == (self.base64 is None):
            raise BadRequest("a file is needed, as text or as base64", param="text")
        if self.text is not None:
            return self.text.encode()
        try:
            return base64.b64decode(self.base64 or "", validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadRequest(f"it is no base64: {error}", param="base64") from error


class EditRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes of a file; all happen, or none. ``version`` is what ``GET`` told of the rows."""

    version: str
    edits: tuple[Edit, ...]
    split: Split = "train"


class SplitRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shares of rows to be set aside; ``seed`` decides which."""

    valid: float = 0.1
    test: float = 0.0
    seed: int = 0


class CleanRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What rows must be.

    Attributes:
        shortest: characters of an answer.
        near: Jaccard index from which on a row goes as nearly the same as an earlier one; 1 = only the same.
        really: otherwise it is only said which rows would go.
    """

    shortest: Annotated[int, Meta(ge=0)] = 1
    near: Annotated[float, Meta(ge=LEAST, le=1)] = 0.8
    really: bool = False
