"""The disk behind the prompt cache is full: the cache goes on without it, and nobody else notices."""

import sys

import httpx
import psutil
import pytest

PATIENCE_S = 60
LEAST_BYTES = 4096
"""The largest file that may still be written: less than any piece of a prompt."""


def messages(number):
    return [{"role": "user", "content": f"{number} " + "what do you know of that? " * 12}]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files of a process that runs")
def test_a_full_disk_costs_nobody_an_answer(process, sketch, tmp_path):
    kept = tmp_path / "kept"
    running = process(sketch, "--prompt-cache-dir", str(kept))
    server = psutil.Process(running.process.pid)
    with httpx.Client(base_url=running.url, timeout=PATIENCE_S) as client:

        def answer(number):
            asked = {"messages": messages(number), "temperature": 0, "max_tokens": 6, "seed": 1}
            told = client.post("/v1/chat/completions", json=asked)
            assert told.status_code == 200
            return told.json()["choices"]

        def disk():
            return client.get("/stats").json()["prompt_cache"]["disk"]

        before = [answer(number) for number in range(3)]
        while not disk()["entries"]:
            assert answer(0) == before[0]
        server.rlimit(psutil.RLIMIT_FSIZE, (LEAST_BYTES, psutil.RLIM_INFINITY))
        number = 3
        while disk()["off"] is None:
            answer(number)
            number += 1
        assert "OSError" in disk()["off"]
        assert [answer(number) for number in range(3)] == before
        assert client.get("/health").status_code == 200
        assert not list(kept.glob(".*.new")), "half a file was left on a full disk"
