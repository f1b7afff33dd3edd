"""``[hub]`` of mlxp.toml."""

from pathlib import Path

from msgspec import Struct

USUAL = "mlx-community/gemma-4-e4b-it-OptiQ-4bit"
STARTER = "mlx-community/MiniCPM5-1B-OptiQ-4bit"
"""A model that runs anywhere, to begin with."""


class HubSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where models come from, and where they lie.

    Attributes:
        cache: folder of the downloaded models; absent = Hugging Face's own (``HF_HUB_CACHE``, ``HF_HOME``).
        endpoint: address of the hub; absent = ``HF_ENDPOINT``, else the public one.
        token: for gated and private models; absent = ``HF_TOKEN``, else what ``hf auth login`` has kept.
        download: fetch a model that is named to ``mlxp serve`` and is not here, instead of saying how to.
        prefer: models to serve, if they are here and fit, where none was named; then the largest that fits.
        at_once: files of a model that are fetched at the same time.
    """

    cache: str | None = None
    endpoint: str | None = None
    token: str | None = None
    download: bool = False
    prefer: tuple[str, ...] = (USUAL,)
    at_once: int = 4


def cache_folder(settings: HubSettings) -> Path:
    """Return the folder of the downloaded models, which need not exist."""
    if settings.cache is not None:
        return Path(settings.cache).expanduser()
    from huggingface_hub import constants  # noqa: PLC0415  # whoever names a folder of their own needs it not

    return Path(constants.HF_HUB_CACHE)
