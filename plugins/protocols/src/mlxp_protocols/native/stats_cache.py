"""The prompt cache in ``GET /stats``: numbers only. What prompts say is nobody's business here."""

from msgspec import Struct

from mlxp_core.types import PromptCacheStats, ReuseCause


class Recalled(Struct, frozen=True):
    """One of the last prompts: its tokens, those taken from the cache, those it shares with what is known, and why."""

    request_id: str
    prompt: int
    cached: int
    shared: int
    cause: ReuseCause


class Disk(Struct, frozen=True):
    """The folder behind it; ``off`` says why nothing more is written."""

    entries: int
    bytes: int
    max_bytes: int
    off: str | None


class PromptCache(Struct, frozen=True):
    """Checkpoints in memory, and what came of look-ups since the start.

    Attributes:
        hit_tokens: tokens of prompts that were taken.
        off: of which models nothing is reused, and why.
        recent: the last prompts, oldest first.
    """

    entries: int
    bytes: int
    max_bytes: int
    hits: int
    misses: int
    hit_tokens: int
    off: str | None
    disk: Disk | None
    recent: tuple[Recalled, ...]


def prompt_cache(now: PromptCacheStats | None) -> PromptCache | None:
    """Return what is told of the prompt cache; ``None`` = there is none."""
    if now is None:
        return None
    return PromptCache(
        now.entries,
        now.bytes,
        now.limit_bytes,
        now.hits,
        now.misses,
        now.hit_tokens,
        now.off,
        Disk(now.disk_entries, now.disk_bytes, now.disk_limit_bytes, now.disk_off)
        if now.disk_limit_bytes
        else None,
        tuple(
            Recalled(each.request_id, each.prompt, each.cached, each.shared, each.cause)
            for each in now.recent
        ),
    )
