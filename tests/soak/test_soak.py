"""Many requests of all kinds, with clients that leave and parts that fail: no answer is wrong, and nothing is left.

``MLXP_SOAK=2000`` sends as many.
"""

import asyncio
import os
import random
import threading
import time
from collections import Counter

import httpx
import mlx.core as mx
import psutil
import pytest

REQUESTS = int(os.environ.get("MLXP_SOAK", "200"))
"""Half of them with a prompt cache, half without."""

AT_ONCE = 24
DEATHS = min(3, max(1, REQUESTS // 500))
"""Of each engine; with some more in ten minutes, the server would give it up."""

PATIENCE_S = 60
SLACK_BYTES = 2**13
"""Masks and the like, that the last step may have had in another size."""

TRIES = 400
RETRYABLE = {500, 503}
KINDS = ("answered", "answered", "answered", "answered", "left", "left", "row", "step", "mount", "shelf")


class Crowd:
    """The clients of one server, and what became of them."""

    def __init__(self, url, usual, wandering, expected):
        self._url = url
        self._usual, self._wandering = usual, wandering
        self._expected = expected
        self._mounting = asyncio.Lock()
        self.became = Counter()
        self.wrong = []

    async def run(self, requests, deaths):
        """Keep ``AT_ONCE`` clients in the house until all have come; some of them are the engine's death."""
        places = asyncio.Semaphore(AT_ONCE)
        fatal = {requests * (n + 1) // (deaths + 1) for n in range(deaths)}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=self._url, timeout=PATIENCE_S, limits=limits) as client:
            self._client = client

            async def come(number):
                async with places:
                    await self._visit(number, "engine" if number in fatal else None)

            await asyncio.gather(*(come(number) for number in range(requests)))

    async def _visit(self, number, kind):
        draw = random.Random(number)  # a schedule, not a secret
        question = draw.choice(self._usual)
        kind = kind or draw.choice(KINDS)
        match kind:
            case "answered":
                await self._ask(question)
            case "left":
                await self._leave(question, draw)
            case "row" | "step" | "engine":
                await self._fail(question, kind)
            case "mount":
                await self._with_the_wandering_adapter(draw.choice(self._wandering))
            case "shelf":
                model = draw.choice(self._usual).model
                await self._client.post(f"/v1/models/{model}/{draw.choice(['load', 'unload'])}")
                await self._ask(question)
        self.became[kind] += 1

    async def _ask(self, question):
        """Ask until it is answered, as clients do who are told to try again."""
        for _ in range(TRIES):
            told = await self._client.post(question.path, json=question.body())
            if told.status_code not in RETRYABLE:
                said = question.answer(told.text) if told.status_code == 200 else told.text
                if said is not None:
                    break
            self.became["told to try again"] += 1
        if said != self._expected[question]:
            self.wrong.append((question.body(), said, self._expected[question]))

    async def _leave(self, question, draw):
        body = question.body(stream=True)
        identity = f"left-{draw.random()}"
        try:
            async with self._client.stream(
                "POST", question.path, json=body, headers={"x-request-id": identity}
            ) as answer:
                count = draw.randint(0, 6)
                async for _ in answer.aiter_lines():
                    count -= 1
                    if count < 0:
                        break
        except httpx.RemoteProtocolError:
            self.became["cut off"] += 1

    async def _fail(self, question, how):
        body = {**question.body(), "sampler_stages": {"fail": {"how": how}}, "stream": question.stream}
        body |= {"messages": [{"role": "user", "content": "x"}]}
        fields = ("model", "messages", "stream", "seed", "sampler_stages", "adapter")
        told = await self._client.post(
            "/v1/chat/completions", json={name: body[name] for name in fields if name in body}
        )
        assert "try" in told.text or "again" in told.text or "once more" in told.text, told.text

    async def _with_the_wandering_adapter(self, question):
        async with self._mounting:
            for _ in range(TRIES):
                mounted = await self._client.post("/v1/adapters", json={"id": "c", "path": "c"})
                if mounted.status_code == 200:
                    break
            assert mounted.status_code == 200, mounted.text
            await self._ask(question)
            assert (await self._client.delete("/v1/adapters/c")).status_code == 200


@pytest.fixture(scope="module")
def expected(house, questions):
    """What each question is answered when nobody else is there, and nothing is remembered."""
    usual, wandering = questions
    with house(prompt_cache_bytes=0, batch=1) as served:
        assert served.client.post("/v1/adapters", json={"id": "c", "path": "c"}).status_code == 200
        answers = {}
        for question in (*usual, *wandering):
            told = served.client.post(question.path, json=question.body())
            assert told.status_code == 200, told.text
            answers[question] = question.answer(told.text)
    assert sum(any(said.values()) for said in answers.values()) > len(answers) / 2
    return answers


def until_idle(served):
    """Ask for the numbers until nothing is under way, and return the last ones."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        stats = served.client.get("/stats").json()
        inside = {**stats["queue"], "limit": 0, "rows": stats["admission"]["cache_bytes"]}
        loaded = all(model["state"] == "loaded" for model in stats["models"].values())
        if loaded and not any(inside.values()) and not served.call(lambda: len(served.desk._house._entries)):
            return stats
    pytest.fail(f"still busy after {PATIENCE_S} s: {stats}")


def settled(served, models):
    """Have every model loaded and nobody in the house, and return what the server holds besides its prompt cache."""
    for model in models:
        assert served.client.post(f"/v1/models/{model.name}/load").status_code == 200
    stats = until_idle(served)
    cache = stats["prompt_cache"]
    mx.clear_cache()
    return {
        "tasks": served.call(lambda: len(asyncio.all_tasks())),
        "house": served.engine._mail.load,
        "threads": threading.active_count(),
        "files": psutil.Process().num_fds(),
        "adapters": len(served.desk.catalogue().adapters),
        "bytes of arrays": mx.get_active_memory() - (0 if cache is None else cache["bytes"]),
    }


def left_of(served, models, first):
    """Return what the server holds more than at ``first``, once what is about to end has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        last = settled(served, models)
        left = {name: last[name] for name in last if last[name] > first[name]}
        if not left or time.monotonic() > deadline:
            return left


@pytest.mark.timeout(max(300, REQUESTS))
@pytest.mark.parametrize("cache_bytes", [0, 2**22])
def test_nothing_is_wrong_and_nothing_is_left(house, questions, expected, models, cache_bytes):
    with house(prompt_cache_bytes=cache_bytes) as served:
        asyncio.run(Crowd(served.url, *questions, expected).run(AT_ONCE, deaths=1))  # made on first use
        first = settled(served, models)
        first["bytes of arrays"] += SLACK_BYTES + cache_bytes // 8  # small arrays take more than they hold
        crowd = Crowd(served.url, *questions, expected)
        began = time.monotonic()
        asyncio.run(crowd.run(REQUESTS // 2, DEATHS))
        took_s = time.monotonic() - began
        left = left_of(served, models, first)
        stats = served.client.get("/stats").json()
    print(f"{REQUESTS // 2} requests in {took_s:.1f} s: {dict(crowd.became)}; {first}")  # noqa: T201  # with -s
    assert crowd.wrong == []
    assert stats["server"]["restarts"] == DEATHS + 1
    assert all(crowd.became[kind] for kind in (*KINDS, "engine")), crowd.became
    assert left == {}
