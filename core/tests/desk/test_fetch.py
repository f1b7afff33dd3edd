import asyncio
import socket
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.desk import fetch
from mlxp_core.desk.fetch import Fetcher, is_public
from mlxp_core.errors import BadRequest
from mlxp_core.prompting import MOST_BYTES
from mlxp_core.testing.pictures import picture
from mlxp_core.types import ImageBytes, ImageUrl, Message, Result, Text

PUBLIC = "93.184.216.34"
IMAGE = picture()


def answer(body=IMAGE.data, status="200 OK", *headers):
    head = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(head).encode() + body


def redirect(where, status="302 Found"):
    return answer(b"", status, f"Location: {where}")


class Web:
    """A server on this machine that stands for all hosts; what it was asked is kept."""

    def __init__(self, pages=(), addresses=()):
        self.pages = {"/": answer(), **dict(pages)}
        self.addresses = {"img.example": [PUBLIC], "other.example": [PUBLIC], **dict(addresses)}
        self.asked, self.connected, self.resolved, self.visits = [], [], [], []

    async def resolve(self, host):
        self.resolved.append(host)
        if host not in self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return self.addresses[host]

    async def connect(self, address, port, tls_name):
        self.connected.append((address, port, tls_name))
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def serve(self, reader, writer):
        self.visits.append(asyncio.current_task())
        asked = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(asked)
        page = self.pages[asked.split(" ")[1].partition("?")[0]]
        if page is not None:
            writer.write(page)
            writer.write_eof()
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    def fetch(self, url, hosts=("img.example",)):
        return self.run(lambda fetcher: fetcher.fetch(url), hosts)

    def run(self, call, hosts=("img.example",)):
        async def run():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            async with server:
                try:
                    return await call(Fetcher(hosts, resolve=self.resolve, connect=self.connect))
                finally:
                    await asyncio.gather(*self.visits)

        return asyncio.run(run())


class TestFetching:
    def test_the_bytes_come_as_they_are(self):
        assert Web().fetch("http://img.example/").data == IMAGE.data

    def test_chunks_are_put_together(self):
        half = len(IMAGE.data) // 2
        pieces = [IMAGE.data[:half], IMAGE.data[half:], b""]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        web = Web({"/": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body})
        assert web.fetch("http://img.example/").data == IMAGE.data

    def test_the_address_that_was_checked_is_the_one_that_is_asked(self):
        web = Web()
        web.fetch("http://img.example/")
        assert web.resolved == ["img.example"]
        assert web.connected == [(PUBLIC, 80, None)]

    def test_certificates_are_held_to_the_name(self):
        web = Web()
        web.fetch("https://IMG.example./")
        assert web.connected == [(PUBLIC, 443, "img.example")]

    def test_the_question_names_host_path_and_query(self):
        web = Web({"/a%20b/%C3%BC.png": answer()})
        web.fetch("http://img.example:8080/a b/\u00fc.png?w=1&h=a%2Fb")
        assert web.asked[0].startswith(
            "GET /a%20b/%C3%BC.png?w=1&h=a%2Fb HTTP/1.1\r\nHost: img.example:8080\r\n"
        )
        assert web.connected == [(PUBLIC, 8080, None)]

    def test_the_real_connection_reads_too(self):
        async def run():
            async def greet(_, writer):
                writer.write(b"hello")
                writer.close()

            server = await asyncio.start_server(greet, "127.0.0.1", 0)
            async with server:
                reader, writer = await fetch.connect("127.0.0.1", server.sockets[0].getsockname()[1], None)
                read = await reader.read()
                writer.close()
                return read, await fetch.resolve("127.0.0.1")

        assert asyncio.run(run()) == (b"hello", ["127.0.0.1"])


class TestRefusals:
    @pytest.mark.parametrize(
        ("url", "why"),
        [
            ("http://elsewhere.example/", "is not among the hosts"),
            ("http://img.example.evil.example/", "is not among the hosts"),
            ("ftp://img.example/", "only http and https"),
            ("file:///etc/passwd", "only http and https"),
            ("http://user:secret@img.example/", "without a password"),
            ("http://", "only http and https"),
            ("http://[::1/", "cannot be fetched"),
            ("http://img.example:99999/", "cannot be fetched"),
            ("http://" + "x" * 300, "cannot be fetched"),
        ],
    )
    def test_urls_that_are_not_followed(self, url, why):
        web = Web()
        with pytest.raises(BadRequest, match=why) as caught:
            web.fetch(url)
        assert caught.value.param == "prompt"
        assert web.resolved == web.asked == []

    @pytest.mark.parametrize(
        "address",
        ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00:ec2::254", "0.0.0.0", "224.0.0.1"],
    )
    def test_private_addresses_are_not_asked(self, address):
        web = Web(addresses={"img.example": [PUBLIC, address]})
        with pytest.raises(BadRequest, match="address in a private network"):
            web.fetch("http://img.example/", hosts=("*",))
        assert web.connected == []

    @pytest.mark.parametrize("addresses", [{"img.example": []}, {"img.example": ["nonsense"]}])
    def test_hosts_without_an_address(self, addresses):
        with pytest.raises(BadRequest, match="cannot be fetched"):
            Web(addresses=addresses).fetch("http://img.example/")

    def test_unknown_hosts(self):
        with pytest.raises(BadRequest, match="no such host"):
            Web().fetch("http://nowhere.example/", hosts=("*",))

    @pytest.mark.parametrize(
        "page",
        [
            answer(b"", "404 Not Found"),
            answer(b"", "500 Oops"),
            b"",
            b"nonsense\r\n\r\n",
            answer(b"x" * 9)[:-3],
        ],
    )
    def test_answers_that_are_no_image(self, page):
        with pytest.raises(BadRequest, match=r"^the image at http://img\.example/ cannot be fetched"):
            Web({"/": page}).fetch("http://img.example/")

    def test_too_many_bytes_are_left_unread(self):
        page = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(MOST_BYTES + 2**21)
        with pytest.raises(BadRequest, match=f"more than {MOST_BYTES} bytes"):
            Web({"/": page}).fetch("http://img.example/")

    def test_a_server_that_does_not_answer_is_left(self, monkeypatch):
        monkeypatch.setattr(fetch, "PATIENCE_S", 0.05)
        with pytest.raises(BadRequest, match="did not come within"):
            Web({"/": None}).fetch("http://img.example/")


class TestRedirects:
    @pytest.mark.parametrize(
        "status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"]
    )
    def test_three_are_followed(self, status):
        steps = {"/1": "/2", "/2": "2/3", "/2/3": "//img.example/"}
        web = Web({page: redirect(where, status) for page, where in steps.items()})
        assert web.fetch("http://img.example/1").data == IMAGE.data
        assert web.resolved == ["img.example"] * 4

    def test_four_are_not(self):
        web = Web({"/1": redirect("/1")})
        with pytest.raises(BadRequest, match="more than 3 redirects"):
            web.fetch("http://img.example/1")
        assert len(web.asked) == 4

    @pytest.mark.parametrize(
        ("where", "why"),
        [
            ("http://other.example/", "not among the hosts"),
            ("http://127.0.0.1/", "not among the hosts"),
            ("file:///etc/passwd", "only http"),
        ],
    )
    def test_they_are_held_to_the_same_rules(self, where, why):
        with pytest.raises(BadRequest, match=why):
            Web({"/1": redirect(where)}).fetch("http://img.example/1")

    def test_a_redirect_into_the_private_network_is_not_followed(self):
        web = Web({"/1": redirect("http://inside.example/")}, {"inside.example": ["10.0.0.1"]})
        with pytest.raises(BadRequest, match="private network"):
            web.fetch("http://img.example/1", hosts=("*",))
        assert len(web.connected) == 1


class TestFilling:
    def test_addresses_become_images_wherever_they_stand(self):
        url = ImageUrl("http://img.example/")
        messages = (
            Message("user", (Text("a"), url, IMAGE)),
            Message("tool", (Result("c", (Text("b"), url)),)),
        )
        web = Web()
        found = web.run(lambda fetcher: fetcher.fill(messages))
        image = ImageBytes(IMAGE.data)
        assert found == (
            Message("user", (Text("a"), image, IMAGE)),
            Message("tool", (Result("c", (Text("b"), image)),)),
        )
        assert len(web.asked) == 1

    @pytest.mark.parametrize("prompt", ["text", (1, 2), (Message("user", (Text("a"), IMAGE)),)])
    def test_a_prompt_without_addresses_is_left_alone(self, prompt):
        assert Web().run(lambda fetcher: fetcher.fill(prompt), hosts=()) is prompt

    def test_without_hosts_nothing_is_fetched(self):
        messages = (Message("user", (ImageUrl("http://img.example/"),)),)
        web = Web()
        with pytest.raises(BadRequest, match=r"send them inside the request, as data: URLs.*image_hosts"):
            web.run(lambda fetcher: fetcher.fill(messages), hosts=())
        assert web.resolved == []


@pytest.mark.parametrize(
    ("hosts", "host", "allowed"),
    [
        (["*.example"], "img.example", True),
        (["*.example"], "example", False),
        (["*.img.example"], "badimg.example", False),
        (["IMG.example"], "img.example", True),
        (["*"], "other.example", True),
    ],
)
def test_which_hosts_an_entry_allows(hosts, host, allowed):
    web = Web(addresses={host: [PUBLIC]})
    if allowed:
        assert web.fetch(f"http://{host}/", hosts=hosts).data == IMAGE.data
    else:
        with pytest.raises(BadRequest, match="not among"):
            web.fetch(f"http://{host}/", hosts=hosts)


@given(st.ip_addresses(v=4))
def test_an_address_in_other_clothes_is_the_same(address):
    public = is_public(str(address))
    value = int(address)
    assert is_public(f"::ffff:{address}") == public
    assert is_public(f"64:ff9b::{value >> 16:x}:{value & 0xFFFF:x}") == public
    assert not is_public(f"2002:{value >> 16:x}:{value & 0xFFFF:x}::1")


@pytest.mark.parametrize(
    "address", ["100.100.100.200", "168.63.129.16", "fe80::1%1", "2001::1", "ff02::1", "::"]
)
def test_addresses_that_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:220:1:248:1893:25c8:1946"])
def test_addresses_that_are_public(address):
    assert is_public(address)
