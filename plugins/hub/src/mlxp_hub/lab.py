"""What the hub brings to the lab, where there is one: the kind of job that pushes what other jobs have made."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.contracts import Workbench
from mlxp_core.errors import MlxpError, SettingsError
from mlxp_hub.parcel import KINDS, Kind, kind_of, packed
from mlxp_hub.refs import parse
from mlxp_hub.settings import HubSettings, cache_folder
from mlxp_lab.jobs import BadParameters, JobContext, JobKind, JobResult, Site
from mlxp_lab.lab import site_of

_HASHING = 0.2
"""Share of a push that hashing files is taken for."""


class PushParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is pushed, and where to.

    Attributes:
        source: a name among the lab's datasets, adapters and models, a downloaded model, or a folder below theirs.
        kind: what it is, where several things have one name; absent = whatever is found first.
        repo: ``owner/name``.
        private: whether others may not see it.
        message: words of the commit.
    """

    source: str
    repo: str
    kind: Kind | None = None
    private: bool = True
    message: str = "Upload with mlxp"


def prepare(parameters: PushParameters, site: Site) -> PushParameters:
    """Find what is meant.

    Raises:
        BadParameters: there is no such thing, or the repository's name is none.
    """
    ref = parse(parameters.repo)
    if ref is None or str(ref) != ref.repo:
        raise BadParameters(f"{parameters.repo!r} names no repository; it must be owner/name", param="repo")
    if not parameters.message.strip():
        raise BadParameters("a commit needs words", param="message")
    folder = found(parameters.source, parameters.kind, site)
    return replace(parameters, source=str(folder), kind=kind_of(folder))


def run(parameters: PushParameters, context: JobContext) -> JobResult:
    """Push it."""
    from mlxp_hub.pushing import pushed  # noqa: PLC0415  # loads huggingface-hub
    from mlxp_hub.sending import Push  # noqa: PLC0415  # as above

    def told(done_bytes: int, total_bytes: int, stage: str) -> None:
        share = done_bytes / max(1, total_bytes)
        fraction = _HASHING * share if stage == "hashing" else _HASHING + (1 - _HASHING) * share
        context.progress(
            0.99 * fraction, f"{done_bytes / 1e6:,.1f} of {total_bytes / 1e6:,.1f} MB", stage=stage
        )

    parcel = packed(Path(parameters.source))
    push = Push(repo=parameters.repo, private=parameters.private, message=parameters.message)
    settings = context.site.settings.section(HubSettings)
    sent = pushed(parcel, push, settings, told, context.breathe)
    return JobResult(
        summary={
            "repo": parameters.repo,
            "url": sent.url,
            "commit": sent.commit,
            "files": sent.files,
            "size_bytes": sent.size_bytes,
            "private": parameters.private,
        }
    )


def found(source: str, kind: Kind | None, site: Site) -> Path:
    """Return the folder that is meant.

    Raises:
        BadParameters: there is none, or it is not one of those that may be pushed from afar.
    """
    folder = _named(source, kind, site) or _below(source, kind, site)
    if folder is None and kind in {None, "model"}:
        folder = _model(source, site)
    if folder is None:
        what = kind or "model, adapter or dataset"
        raise BadParameters(f"there is no {what} {source!r} here to be pushed", param="source")
    return folder


def made(source: str, kind: Kind | None, bench: Workbench) -> Path | None:
    """Return the folder of something that the lab has made, by its name; ``None`` where the lab is off."""
    try:
        return _named(source, kind, site_of(bench, bench))
    except SettingsError:
        return None


def _named(source: str, kind: Kind | None, site: Site) -> Path | None:
    """Return what has a name among the lab's datasets, adapters and models."""
    if not source or Path(source).name != source:
        return None
    there = (place / source for place in (site.datasets, site.adapters, site.made_models))
    return next((folder for folder in there if _is(folder, kind)), None)


def _below(source: str, kind: Kind | None, site: Site) -> Path | None:
    """Return the folder that a path leads to, if it is below the lab's or that of downloaded models."""
    places = (
        site.datasets,
        site.adapters,
        site.made_models,
        cache_folder(site.settings.section(HubSettings)),
    )
    try:
        folder = Path(source).expanduser().resolve()
        inside = any(folder.is_relative_to(place.resolve()) for place in places)
        return folder if inside and _is(folder, kind) else None
    except (OSError, RuntimeError, ValueError):  # no path at all
        return None


def _model(source: str, site: Site) -> Path | None:
    """Return the folder of a model that has a name; paths elsewhere are none."""
    try:
        if Path(source).expanduser().exists():
            return None
        folder = site.models.find(source)
        return folder if _is(folder, "model") else None
    except (MlxpError, OSError, RuntimeError, ValueError):  # nobody knows it
        return None


def _is(folder: Path, kind: Kind | None) -> bool:
    try:
        return kind_of(folder) in ({kind} if kind else set(KINDS))
    except (OSError, ValueError):  # a name too long, or with a character 0
        return False


KIND = JobKind(
    name="push",
    summary="Push a model, an adapter or a dataset to the Hugging Face hub.",
    parameters=PushParameters,
    prepare=prepare,
    run=run,
    title=lambda parameters: parameters.repo,
    device="cpu",
    resumable=True,
)
