"""From a reference, or from none, to the folder of a model on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlxp_core.contracts import Appraise
from mlxp_core.errors import SetupError
from mlxp_core.types import Appraisal, ModelChoice
from mlxp_hub.library import Downloaded, current, downloaded, find
from mlxp_hub.refs import MAIN, Ref, parse
from mlxp_hub.settings import HubSettings, cache_folder

SHARE = 0.8
"""Of what models may take, how much one takes that leaves the machine to others too: 0.6 of 0.75 of the memory."""


def resolve(text: str, settings: HubSettings) -> Path | None:
    """Return the folder of a downloaded model; fetch it first, where the settings say so.

    Raises:
        SetupError: several models are meant, or ``owner/name`` is not here.
    """
    model = find(text, downloaded(cache_folder(settings)))
    if model is not None:
        return model.path
    ref = parse(text)
    if ref is None:
        return None
    if settings.download:
        return fetch(ref, settings)
    what = "is not downloaded" if ref.revision == MAIN else f"is not downloaded in revision {ref.revision!r}"
    raise SetupError(f"{ref.repo} {what}, and is no folder either; fetch it with: mlxp get {ref}")


def fetch(ref: Ref, settings: HubSettings, *, verify: bool = False) -> Path:
    """Fetch a model, showing how it goes, and return its folder.

    Args:
        ref: which one.
        settings: where from and where to.
        verify: hash the files that are here already, too.

    Raises:
        HubError: it cannot be had.
    """
    from mlxp_hub.display import shown  # noqa: PLC0415  # whoever only looks at the disk needs no HTTP client
    from mlxp_hub.download import Download  # noqa: PLC0415  # as above

    with shown(ref) as watcher:
        return Download(ref, settings, watcher).run(verify=verify)


def choose(settings: HubSettings, appraise: Appraise) -> ModelChoice | None:
    """Return the downloaded model to serve where none was named; ``None`` when none can be.

    The first of these: a preferred one that fits; the largest that fits and leaves room for other programs; the
    largest that fits. Where nobody knows what fits, the smallest one that can be served.
    """
    models = [model for model in current(downloaded(cache_folder(settings))) if not model.drafter]
    looked = [(model, appraise(model.path)) for model in sorted(models, key=lambda each: -each.size_bytes)]
    able = [(model, told) for model, told in looked if told.family is not None]
    fitting = [(model, told) for model, told in able if told.fit is not None and told.fit.fits]
    for name in settings.prefer:
        for model, _ in fitting:
            if model.repo.lower() == name.lower():
                return ModelChoice(path=model.path, why="the preferred one of those that are downloaded")
    roomy = [(model, told) for model, told in fitting if _roomy(told)]
    return (
        _first(roomy, "the largest downloaded model that fits and leaves room for other programs")
        or _first(fitting, "the largest downloaded model that fits")
        or _first([pair for pair in reversed(able) if pair[1].fit is None], "the smallest downloaded model")
    )


def _roomy(told: Appraisal) -> bool:
    return told.fit is not None and told.fit.total_bytes <= SHARE * told.fit.usable_bytes


def _first(pairs: Sequence[tuple[Downloaded, Appraisal]], why: str) -> ModelChoice | None:
    return ModelChoice(path=pairs[0][0].path, why=why) if pairs else None
