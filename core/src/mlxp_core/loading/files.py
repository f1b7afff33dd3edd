"""JSON files of a model folder: read whole, or said plainly why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlxp_core.errors import ModelFolderError

_CACHED = "models--"


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        ModelFolderError: when the file is absent, unreadable, no JSON, or JSON of another kind.
    """
    value = parse(read_text(path), path)
    if not isinstance(value, dict):
        raise ModelFolderError(f"{where(path)} must hold a JSON object, not {_kind(value)}")
    return value


def read_optional(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or an empty one where there is no file."""
    return read_object(path) if path.is_file() else {}


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        ModelFolderError: when the file is absent, unreadable or no UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFolderError(f"{where(path)} is damaged, it is no UTF-8 text: {error}") from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        ModelFolderError: when the file is absent or unreadable.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelFolderError(f"{where(path)} is missing; is the model complete?") from error
    except OSError as error:
        raise ModelFolderError(f"{where(path)} cannot be read: {error}") from error


def parse(text: str | bytes, path: Path) -> Any:
    """Return the JSON value of a text that stands in ``path``.

    Raises:
        ModelFolderError: when the text is no JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFolderError(f"{where(path)} is damaged, it holds no JSON: {error}") from error


def model_name(path: Path) -> str:
    """Return what the model in a folder is called: the folder's own name.

    A folder of Hugging Face's cache, ``models--<owner>--<name>/snapshots/<commit>``, is called ``<owner>/<name>``.
    """
    home = path.parent.parent.name
    if path.parent.name == "snapshots" and home.startswith(_CACHED):
        return home.removeprefix(_CACHED).replace("--", "/", 1)
    return path.name


def where(path: Path) -> str:
    """Name a file by its model, or the folder it is in, and its own name."""
    return f"{model_name(path.parent)}/{path.name}"


def _kind(value: Any) -> str:
    return {list: "an array", str: "a string", type(None): "null"}.get(
        type(value), f"a {type(value).__name__}"
    )
