"""A ticket: many listeners, each at its own pace; the last one to leave cancels."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.desk import Ticket
from mlxp_core.types import Failed, Finished, GenerateRequest, TextDelta, Timing, Usage

LAST = Finished("stop", Usage(), Timing())


class Witness:
    def __init__(self, choices=1):
        self.left = 0
        self.closed = 0
        request = GenerateRequest(id="r", model="m", prompt="hello")
        self.ticket = Ticket(request, choices, leave=self.leave, close=self.close)

    def leave(self):
        self.left += 1

    def close(self):
        self.closed += 1


async def read(ticket):
    return [event async for event in ticket.events()]


def words(*texts):
    return [TextDelta(text) for text in texts]


@given(st.lists(st.integers(0, 4), max_size=8))
def test_every_listener_hears_everything_in_order_however_it_was_cut(sizes):
    async def play():
        ticket = Witness().ticket
        listeners = [asyncio.create_task(read(ticket)) for _ in range(3)]
        said = []
        for number, size in enumerate(sizes):
            batch = words(*(f"{number}.{place}" for place in range(size)))
            said += batch
            ticket.take(batch)
            if number % 2:
                await asyncio.sleep(0)
        ticket.take([LAST])
        late = await read(ticket)
        assert [await task for task in listeners] == [[*said, LAST]] * 3
        assert late == [*said, LAST]

    asyncio.run(play())


def test_one_delivery_is_one_batch():
    async def play():
        ticket = Witness().ticket
        with ticket.listen() as listener:
            waiting = asyncio.create_task(listener.more())
            await asyncio.sleep(0)
            ticket.take(words("a", "b", "c"))
            assert await waiting == words("a", "b", "c")
            ticket.take([LAST])
            assert not listener.done
            assert await listener.more() == [LAST]
            assert listener.done
            assert await listener.more() == []

    asyncio.run(play())


def test_patience_ends_a_wait_and_loses_nothing():
    async def play():
        ticket = Witness().ticket
        with ticket.listen() as listener:
            assert await listener.more(0.0) == []
            assert not listener.done
            ticket.take(words("late"))
            assert await listener.more(0.0) == words("late")

    asyncio.run(play())


def test_closing_the_iterator_early_cancels():
    async def play():
        witness = Witness()
        events = witness.ticket.events()
        witness.ticket.take(words("a"))
        assert await anext(events) == TextDelta("a")
        await events.aclose()
        assert witness.left == 1

    asyncio.run(play())


def test_only_the_last_listener_to_leave_cancels():
    witness = Witness()
    first, second = witness.ticket.listen(), witness.ticket.listen()
    first.close()
    assert witness.left == 0
    second.close()
    assert witness.left == 1


def test_nobody_cancels_what_has_ended():
    witness = Witness()
    with witness.ticket.listen():
        witness.ticket.take([LAST])
    witness.ticket.cancel()
    assert witness.left == 0


@pytest.mark.parametrize("last", [LAST, Failed("engine_fault", "no", 500)])
def test_it_ends_with_the_last_event_of_the_last_choice(last):
    witness = Witness(choices=2)
    witness.ticket.take([LAST])
    assert not witness.ticket.ended
    assert witness.closed == 0
    witness.ticket.take([last])
    assert witness.ticket.ended
    assert witness.closed == 1
