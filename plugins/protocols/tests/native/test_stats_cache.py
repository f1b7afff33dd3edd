"""What ``GET /stats`` tells of the prompt cache."""

import msgspec

from mlxp_core.types import Parting, PromptCacheStats, Reuse
from mlxp_protocols.native.stats_cache import prompt_cache

PARTING = Parting(place=9, message=1, token=5, text="secret", known_token=6, known_text="private")
REUSE = Reuse(
    prompt=20, cached=9, shared=9, cause="different", why="'secret' here", parting=PARTING, request_id="r"
)


def test_there_may_be_none():
    assert prompt_cache(None) is None


def test_numbers_are_told_and_words_are_not():
    stats = PromptCacheStats(
        hits=3, misses=1, hit_tokens=99, entries=7, bytes=50, limit_bytes=90, recent=(REUSE,)
    )
    told = msgspec.json.encode(prompt_cache(stats))
    assert b"secret" not in told
    assert b"private" not in told
    assert msgspec.json.decode(told) == {
        "entries": 7,
        "bytes": 50,
        "max_bytes": 90,
        "hits": 3,
        "misses": 1,
        "hit_tokens": 99,
        "off": None,
        "disk": None,
        "recent": [{"request_id": "r", "prompt": 20, "cached": 9, "shared": 9, "cause": "different"}],
    }


def test_a_folder_is_told_with_what_is_wrong_with_it():
    stats = PromptCacheStats(
        disk_entries=2, disk_bytes=5, disk_limit_bytes=9, disk_off="full", off="m: it is off"
    )
    told = prompt_cache(stats)
    assert (told.disk.entries, told.disk.bytes, told.disk.max_bytes, told.disk.off) == (2, 5, 9, "full")
    assert told.off == "m: it is off"
