"""What browsers are told about pages from elsewhere. Who may really come in is decided in ``access``."""

from litestar.config.cors import CORSConfig

from mlxp_core.types import ServerSettings

SHOWN_HEADERS = ["request-id", "retry-after", "x-mlxp-warnings", "x-request-id"]
"""Headers of an answer that a page may read."""


def cors(settings: ServerSettings) -> CORSConfig | None:
    """Return what browsers are told about other origins; nothing, unless some are listed."""
    if not settings.cors_origins:
        return None
    return CORSConfig(
        allow_origins=[origin.rstrip("/").lower() for origin in settings.cors_origins],
        expose_headers=SHOWN_HEADERS,
    )
