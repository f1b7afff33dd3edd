from threading import Event, Thread

import pytest

from mlxp_core.engine.mailbox import STOP, Deliveries, Mailbox
from mlxp_core.engine.orders import Cancel, CancelAll, Close, Submit
from mlxp_core.errors import Busy, Unavailable
from mlxp_core.types import RequestRecord, TextDelta, Timing, Usage


def at_once(call):
    call()


@pytest.fixture
def mail():
    return Mailbox(at_once, places=3, on_record=lambda _: None)


def ended(request_id):
    record = RequestRecord(
        request_id=request_id, protocol="", model="m", usage=Usage(), timing=Timing(), reason="stop"
    )
    return Deliveries(events=((lambda _: None, []),), records=(record,))


def test_messages_come_out_in_the_order_they_went_in(mail, orders):
    messages = [Submit(orders("a").orders, 0.0), Cancel("a"), Submit(orders("b").orders, 0.0)]
    mail.submit(messages[0], retry_after_s=1)
    mail.tell(messages[1])
    mail.submit(messages[2], retry_after_s=1)
    assert list(mail.take(wait=True)) == messages
    assert list(mail.take(wait=False)) == []


def test_a_choice_counts_from_submit_to_its_last_event(mail, orders):
    mail.submit(Submit(orders("a", choices=2).orders, 0.0), retry_after_s=1)
    mail.submit(Submit(orders("b").orders, 0.0), retry_after_s=1)
    mail.take(wait=False)
    with pytest.raises(Busy, match="all 3 places") as busy:
        mail.submit(Submit(orders("c").orders, 0.0), retry_after_s=7)
    assert busy.value.headers == (("Retry-After", "7"),)
    mail.deliver(ended("a"))
    assert mail.knows("a")
    mail.submit(Submit(orders("c").orders, 0.0), retry_after_s=1)
    mail.deliver(ended("a"))
    assert not mail.knows("a")
    assert mail.load == 2


def test_a_place_is_free_before_the_client_hears_of_the_end(orders):
    seen = []
    mail = Mailbox(lambda call: seen.append(mail.load) or call(), places=1, on_record=lambda _: None)
    mail.submit(Submit(orders("a").orders, 0.0), retry_after_s=1)
    mail.deliver(ended("a"))
    assert seen == [0]


def test_more_choices_than_places_get_in_when_nobody_else_is(mail, orders):
    mail.submit(Submit(orders("a", choices=5).orders, 0.0), retry_after_s=1)
    assert mail.load == 5


def test_a_closed_mailbox_refuses_requests_but_not_messages(mail, orders):
    mail.close(Close(5.0))
    with pytest.raises(Unavailable):
        mail.submit(Submit(orders("a").orders, 0.0), retry_after_s=1)
    mail.tell(Cancel("a"))
    assert list(mail.take(wait=True)) == [Close(5.0), Cancel("a")]
    assert list(mail.take(wait=False)) == []
    assert mail.take(wait=True) is STOP


def test_shutting_gives_back_what_nobody_read(mail, orders):
    message = Submit(orders("a").orders, 0.0)
    mail.submit(message, retry_after_s=1)
    assert list(mail.shut()) == [message]
    mail.tell(Cancel("a"))
    assert list(mail.shut()) == []


def test_a_message_wakes_the_thread_that_waits(mail):
    got, waiting = [], Event()

    def wait():
        waiting.set()
        got.extend(mail.take(wait=True))

    thread = Thread(target=wait)
    thread.start()
    assert waiting.wait(10)
    mail.tell(Cancel("a"))
    thread.join(10)
    assert got == [Cancel("a")]


def test_one_hand_over_for_everything_and_records_come_last(orders):
    posted, heard = [], []
    mail = Mailbox(posted.append, places=3, on_record=heard.append)
    deliveries = ended("a")
    said = [TextDelta("x")]
    mail.deliver(Deliveries(((heard.extend, said), (heard.extend, said)), deliveries.records))
    assert heard == []
    assert len(posted) == 1
    posted[0]()
    assert heard == [*said, *said, deliveries.records[0]]


def test_nothing_to_say_posts_nothing():
    posted = []
    Mailbox(posted.append, places=3, on_record=lambda _: None).deliver(Deliveries())
    assert posted == []


def test_a_sink_that_fails_spoils_no_other(mail):
    heard = []

    def broken(_):
        raise KeyError("ticket")

    mail.deliver(Deliveries(((broken, [TextDelta("x")]), (heard.extend, [TextDelta("y")]))))
    assert heard == [TextDelta("y")]


def test_when_the_event_loop_is_gone_everything_is_cancelled():
    def closed(_):
        raise RuntimeError("Event loop is closed")

    mail = Mailbox(closed, places=3, on_record=lambda _: None)
    mail.deliver(ended("a"))
    assert list(mail.take(wait=True)) == [CancelAll()]


def test_a_wait_may_have_an_end(mail):
    assert mail.take(wait=True, timeout_s=0.001) == []
