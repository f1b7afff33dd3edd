"""Lines between ranks: real sockets, messages in order, strangers turned away."""

import socket
import threading
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.contracts import ImageSpan
from mlxp_core.ranks import messages
from mlxp_core.ranks.lines import SECRET_BYTES, SILENCE_S, Line, accept, connect, listen

SECRET = bytes(range(SECRET_BYTES))
WHOLE = st.integers(0, 2**40)


@contextmanager
def connected():
    """Yield both ends of a line: the first rank's, and another one's."""
    with listen("127.0.0.1") as listener:
        port, made = listener.getsockname()[1], {}
        follower = threading.Thread(target=lambda: made.update(line=connect("127.0.0.1", port, SECRET, 1)))
        follower.start()
        lines = accept(listener, SECRET, 2)
        follower.join()
    yield lines[1], made["line"]
    lines[1].close()
    made["line"].close()


@pytest.fixture
def ends():
    with connected() as both:
        yield both


@pytest.fixture(scope="module")
def lasting():
    """The ends of a line that many examples go over."""
    with connected() as both:
        yield both


def test_messages_arrive_as_they_were_sent(ends):
    leaders, followers = ends
    spans = ((ImageSpan(3, 4, (1, 2, 2)),), ())
    sent = [
        messages.Load("m", "f", 3),
        messages.Make(3, 7),
        messages.Pass(3, (7, 8), (0, 2), (2, 1), 2, True, spans, ((), ()), "float32", 64),
        messages.Freeze(7, 0, 9, 4, 11),
        messages.Thaw(7, 12, ((11, 4, 9),), None),
        messages.Drop(11),
        messages.Stop(),
    ]
    leaders.send(sent)
    assert followers.receive() == sent
    answers = [messages.Loaded(10, 5), messages.Refused("why")]
    followers.send(answers)
    assert leaders.receive() == answers


@given(
    st.lists(
        st.builds(messages.Trim, WHOLE, WHOLE, WHOLE) | st.builds(messages.Keep, WHOLE, st.tuples(WHOLE))
    )
)
def test_any_messages_arrive(lasting, sent):
    leaders, followers = lasting
    leaders.send(sent)
    leaders.send([messages.Stop()])
    assert followers.receive() == sent
    assert followers.receive() == [messages.Stop()]


def test_whoever_has_gone_is_known_to_have(ends):
    leaders, followers = ends
    followers.close()
    assert leaders.receive() is None


def test_whoever_falls_silent_is_looked_after():
    """The system is told to; that it does is its own affair."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as sock,
    ):
        Line(sock, messages.Message)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        idle = socket.TCP_KEEPIDLE if hasattr(socket, "TCP_KEEPIDLE") else socket.TCP_KEEPALIVE
        first, again, times = (
            sock.getsockopt(socket.IPPROTO_TCP, option)
            for option in (idle, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert first + again * times == SILENCE_S


def test_a_message_that_breaks_off_is_no_message(ends):
    leaders, followers = ends
    followers._socket.sendall(b"\0\0\1\0half")
    followers.close()
    assert leaders.receive() is None


def test_strangers_are_turned_away():
    with listen("127.0.0.1") as listener:
        port = listener.getsockname()[1]
        strangers = [
            connect("127.0.0.1", port, bytes(SECRET_BYTES), 1),  # a wrong secret
            connect("127.0.0.1", port, SECRET, 0),  # the first rank itself
            connect("127.0.0.1", port, SECRET, 9),  # one that there is not
        ]
        hasty = socket.create_connection(("127.0.0.1", port))
        hasty.close()
        guest = connect("127.0.0.1", port, SECRET, 1)
        lines = accept(listener, SECRET, 2)
        assert lines.keys() == {1}
        assert all(stranger.receive() is None for stranger in strangers)
        lines[1].send([messages.Stop()])
        assert guest.receive() == [messages.Stop()]
    for line in (*strangers, guest, *lines.values()):
        line.close()
