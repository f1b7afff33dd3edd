"""The models on disk, in the layout of Hugging Face's cache, which other programs fill too.

``models--<owner>--<name>/snapshots/<commit>/`` holds a revision's files, as links into ``blobs/``; ``refs/<revision>``
names a commit. A snapshot counts once it is complete: configuration, tokenizer and every weight file.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from mlxp_core.errors import SetupError
from mlxp_hub.refs import MAIN, Ref, parse

PREFIX = "models--"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
DRAFTER = "_assistant"
"""How the types of models end that only draft for others."""

SHORTEST_COMMIT = 7
"""Letters of a hash that may stand for all of it."""


class Downloaded(Struct, frozen=True, kw_only=True):
    """One revision of a model on disk.

    Attributes:
        repo: ``owner/name``.
        commit: hash of the revision.
        refs: branches and tags that name it.
        path: its folder, which can be served.
        model_type: as config.json says; empty where it does not.
        size_bytes: of all its files.
        bits, group_size: of quantized weights; ``None`` = they are not.
        changed_s: when its newest file came, in seconds since 1970.
    """

    repo: str
    commit: str
    refs: tuple[str, ...]
    path: Path
    model_type: str
    size_bytes: int
    bits: int | None
    group_size: int | None
    changed_s: float

    @property
    def drafter(self) -> bool:
        """Say whether it only drafts for other models, and cannot be served."""
        return self.model_type.endswith(DRAFTER)


def home(cache: Path, repo: str) -> Path:
    """Return the folder of a model in the cache."""
    return cache / f"{PREFIX}{repo.replace('/', '--')}"


def downloaded(cache: Path) -> list[Downloaded]:
    """Return every complete revision on disk, by name, newest first."""
    snapshots = cache.glob(f"{PREFIX}*--*/snapshots/*/config.json")
    found = [_described(config.parent) for config in snapshots if complete(config.parent)]
    return sorted(found, key=lambda each: (each.repo.lower(), -each.changed_s, each.commit))


def current(models: Iterable[Downloaded]) -> list[Downloaded]:
    """Return one revision of each model: what ``main`` names, else the one that came last."""
    by_repo: dict[str, list[Downloaded]] = {}
    for model in models:
        by_repo.setdefault(model.repo, []).append(model)
    return [_usual(revisions) for revisions in by_repo.values()]


def find(text: str, models: Sequence[Downloaded]) -> Downloaded | None:
    """Return the model that a reference means: one of exactly that name, else the only one whose name holds it.

    Args:
        text: ``owner/name``, ``owner/name@revision``, or a part of a name or of a model type, in any case.
        models: those on disk.

    Returns:
        ``None`` when there is none.

    Raises:
        SetupError: several models are meant.
    """
    ref = parse(text)
    if ref is not None:
        exact = [model for model in models if model.repo.lower() == ref.repo.lower()]
        if exact:
            return _revision(exact, ref)
    wanted = text.lower()
    like = [model for model in models if not model.drafter and _holds(model, wanted)] if wanted else []
    names = sorted({model.repo for model in like})
    if len(names) > 1:
        raise SetupError(f"{text!r} may mean {', '.join(names)}; name one of them in full")
    return _usual(like) if like else None


def complete(snapshot: Path) -> bool:
    """Say whether nothing is missing that a server needs."""
    if not (snapshot / "tokenizer.json").is_file():
        return False
    index = snapshot / INDEX
    if not index.is_file():
        return (snapshot / SINGLE).is_file()
    placed = _object(index).get("weight_map")
    files = set(placed.values()) if isinstance(placed, dict) else set()
    return bool(files) and all(isinstance(name, str) and (snapshot / name).is_file() for name in files)


def _holds(model: Downloaded, wanted: str) -> bool:
    return wanted in model.repo.lower() or wanted in model.model_type.lower()


def _revision(models: Sequence[Downloaded], ref: Ref) -> Downloaded | None:
    """Return the revision asked for; without one asked for, the usual one."""
    named = [model for model in models if ref.revision in model.refs]
    if not named and len(ref.revision) >= SHORTEST_COMMIT:
        named = [model for model in models if model.commit.startswith(ref.revision)]
    if named:
        return named[0]
    return _usual(models) if ref.revision == MAIN else None


def _usual(revisions: Sequence[Downloaded]) -> Downloaded:
    main = (model for model in revisions if MAIN in model.refs)
    return next(main, None) or max(revisions, key=lambda model: (model.changed_s, str(model.path)))


def _described(snapshot: Path) -> Downloaded:
    config = _object(snapshot / "config.json")
    kept = [file.stat() for file in snapshot.rglob("*") if file.is_file()]
    packing = config.get("quantization") or config.get("quantization_config")
    packing = packing if isinstance(packing, dict) else {}
    kind = config.get("model_type")
    folder = snapshot.parent.parent
    return Downloaded(
        repo=folder.name.removeprefix(PREFIX).replace("--", "/", 1),
        commit=snapshot.name,
        refs=tuple(sorted(_refs(folder / "refs", snapshot.name))),
        path=snapshot,
        model_type=kind if isinstance(kind, str) else "",
        size_bytes=sum(file.st_size for file in kept),
        bits=_count(packing.get("bits")),
        group_size=_count(packing.get("group_size")),
        changed_s=max(file.st_mtime for file in kept),
    )


def _refs(folder: Path, commit: str) -> Iterator[str]:
    for file in folder.rglob("*"):
        if file.is_file() and file.read_text("utf-8", errors="replace").strip() == commit:
            yield file.relative_to(folder).as_posix()


def _count(value: Any) -> int | None:
    return value if type(value) is int else None


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one where it is none, as serving it will say what is wrong."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
