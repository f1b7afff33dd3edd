"""A thousand requests, most of whose clients leave: afterwards nothing of them is left."""

import asyncio
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import mlx.core as mx
import psutil
import pytest

from mlxp_core import hookimpl

REQUESTS = 1000
AT_ONCE = 96
PATIENCE_S = 60
SETTINGS = {
    "engine": {
        "batch": 6,
        "queue": 200,
        "prefill_chunk": 64,
        "prompt_cache_bytes": 0,
    },  # what it keeps, is no leak
    "server": {"keep_alive_s": 0.05},
}
WHERE = ("at its end", "in the queue", "in prefill", "in decode")
LEAVE = ("stays", "half a request", "at once", "in prefill", "in decode", "in decode")


class Records:
    """An observer that counts where choices end."""

    def __init__(self):
        self.places = Counter()

    @hookimpl
    def mlxp_request_finished(self, record):
        self.places[self._place(record)] += 1

    def _place(self, record):
        if record.reason != "cancelled":
            return "at its end"
        if record.usage.completion:
            return "in decode"
        return "in prefill" if record.usage.prompt else "in the queue"


def request(draw, leave):
    """Return the bytes of a request; those that are left in prefill have a long prompt."""
    long = leave == "in prefill" or draw.random() < 0.05
    body = {
        "messages": [{"role": "user", "content": "hello " * (600 if long else draw.randint(1, 40))}],
        "max_tokens": 60 if leave == "in decode" else draw.randint(1, 30),
        "temperature": draw.choice([0, 1.0]),
        "stream": leave != "stays" or draw.random() < 0.5,
        "n": draw.choice([1, 1, 1, 3]),
        "logprobs": draw.random() < 0.2,
    }
    sent = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sent)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + sent


async def visit(port, number):
    """Send a request, and leave when it is time; return what was heard."""
    draw = random.Random(number)  # a schedule, not a secret
    leave = draw.choice(LEAVE)
    sent = request(draw, leave)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    heard = b""
    try:
        writer.write(sent[: len(sent) // 2] if leave == "half a request" else sent)
        await writer.drain()
        match leave:
            case "stays":
                heard = await reader.read()
            case "in prefill":  # the first event says that the request has a row
                await reader.readuntil(b"data: ")
            case "in decode":
                for _ in range(draw.randint(4, 16)):  # the first ones only begin the choices
                    await reader.readuntil(b"data: ")
        if draw.random() < 0.5:  # a reset in place of a goodbye
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    except asyncio.IncompleteReadError:
        heard = b""  # the answer was over before this visitor left
    finally:
        writer.close()
    return leave, heard


async def storm(port, visitors):
    """Keep ``AT_ONCE`` visitors in the house until all have come."""
    places = asyncio.Semaphore(AT_ONCE)

    async def come(number):
        async with places:
            return await visit(port, number)

    return await asyncio.gather(*(come(number) for number in range(visitors)))


def holdings(served):
    """Return what the server holds besides its weights."""

    def on_the_loop():
        return len(asyncio.all_tasks()), len(served.desk._house._entries)

    tasks, tickets = served.call(on_the_loop)
    mx.clear_cache()
    return {
        "tasks": tasks,
        "tickets": tickets,
        "house": served.engine._mail.load,
        "threads": threading.active_count(),
        "files": psutil.Process().num_fds(),
        "bytes of arrays": mx.get_active_memory(),
    }


def until_idle(served):
    """Ask for the numbers until nothing is under way, and return the last ones."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        stats = served.client.get("/stats").json()
        inside = {**stats["queue"], "limit": 0, "cache": stats["admission"]["cache_bytes"]}
        if not any(inside.values()) and not served.call(lambda: len(served.desk._house._entries)):
            return stats
    pytest.fail(f"still busy after {PATIENCE_S} s: {stats}")


def left_of(served, first):
    """Return what the server holds more than at ``first``, once what is about to end has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        last = holdings(served)
        left = {name: last[name] for name in last if last[name] > first[name]}
        if not left or time.monotonic() > deadline:
            return left


def assert_complete(heard):
    head, _, body = heard.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), heard[:300]
    assert b"finish_reason" in body
    assert b"error" not in body
    if b"text/event-stream" in head:
        assert b"data: [DONE]" in body


def test_nothing_is_left_of_a_storm(live, sketch, official, chat):
    records = Records()
    with live(sketch, plugins=[("records", records)], flags=SETTINGS) as served:
        client = official(served.url)
        port = urlsplit(served.url).port
        asyncio.run(storm(port, 2 * AT_ONCE))  # what is made on first use is there now
        before, _ = chat(client, stream=True, n=2).told(), until_idle(served)
        first = holdings(served)
        visits = asyncio.run(storm(port, REQUESTS))
        stats = until_idle(served)
        assert chat(client, stream=True, n=2).told() == before
        left = left_of(served, first)
    stayed = [heard for leave, heard in visits if leave == "stays"]
    assert len(stayed) > REQUESTS / 10
    for heard in stayed:
        assert_complete(heard)
    totals = stats["totals"]
    assert totals["failed"] == 0
    assert records.places.total() == totals["finished"] + totals["cancelled"] + 2  # the last answer's
    assert min(records.places[where] for where in WHERE) > REQUESTS / 100, records.places
    assert left == {}
