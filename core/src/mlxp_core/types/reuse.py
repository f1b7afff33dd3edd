"""What the prompt cache did: for one prompt, and all in all."""

from typing import Literal

from msgspec import Struct

ReuseCause = Literal["none", "empty", "different", "no_checkpoint", "evicted", "off"]


class Parting(Struct, frozen=True, kw_only=True):
    """Where a prompt parts from the known sequence that begins most like it.

    Attributes:
        place: number of the first token that differs, from 0.
        message: in which message that is, from 0, as the chat template was told the conversation (system messages and
            results may have been moved together, and a message without words is not told from the next one);
            ``None`` where there are no messages.
        token: what the prompt has there; ``None`` = an image.
        text: of that token.
        known_token: what the known sequence has there.
        known_text: of that token.
    """

    place: int
    message: int | None
    token: int | None
    text: str
    known_token: int | None
    known_text: str


class Reuse(Struct, frozen=True, kw_only=True):
    """How much of one prompt came from the cache, and why not more.

    Attributes:
        prompt: its tokens.
        cached: those taken from the cache.
        shared: how many it shares with the known sequence that begins most like it.
        cause: ``none`` = all that is known was taken, and the prompt only goes on from there; ``empty`` = nothing of
            this model is known; ``different`` = all was taken up to where it parts from what is known;
            ``no_checkpoint`` = more is known, but the model cannot go back to there; ``evicted`` = a checkpoint that
            would have served had to make room; ``off`` = nothing is reused.
        why: the same in words.
        parting: where it parts from what is known, if it does.
        request_id: whose it is.
    """

    prompt: int
    cached: int
    shared: int
    cause: ReuseCause
    why: str
    parting: Parting | None = None
    request_id: str = ""


class PromptCacheStats(Struct, frozen=True, kw_only=True):
    """The prompt cache at one moment.

    Attributes:
        off: of which models nothing is reused, and why; ``None`` = of none.
        hits, misses: prompts since the start of which some, or nothing, was taken.
        hit_tokens: tokens taken, in all.
        entries: checkpoints held in memory.
        bytes, limit_bytes: memory they take, and may take.
        disk_off: why nothing more is kept on disk, where it should be.
        disk_entries, disk_bytes, disk_limit_bytes: the same on disk.
        recent: the last prompts, oldest first.
    """

    off: str | None = None
    hits: int = 0
    misses: int = 0
    hit_tokens: int = 0
    entries: int = 0
    bytes: int = 0
    limit_bytes: int = 0
    disk_off: str | None = None
    disk_entries: int = 0
    disk_bytes: int = 0
    disk_limit_bytes: int = 0
    recent: tuple[Reuse, ...] = ()
