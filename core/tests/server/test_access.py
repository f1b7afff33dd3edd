"""Who may come in."""

import pytest
from litestar import delete, get

from mlxp_core import hookimpl
from mlxp_core.contracts import ACCESS, Query, WireProtocol
from mlxp_core.errors import Forbidden, SetupError, Unauthorized
from mlxp_core.server.access import Guard, Visit, check_exposure, is_loopback
from mlxp_core.types import EngineStats, Finished, ServerSettings, Started, Timing, Usage, WireResponse

SHORT = (Started("", ""), Finished("stop", Usage(), Timing()))
HERE, ELSEWHERE = "127.0.0.1", "192.168.1.9"


def check(headers, *, method="POST", access="key", client=HERE, **settings):
    Guard(ServerSettings(**settings)).check(
        Visit(method=method, headers=headers, access=access, client=client)
    )


# ── Hosts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["localhost:8090", "127.0.0.1", "[::1]:80", "LOCALHOST", "mac.local:1"])
def test_this_machines_names_are_let_in(host):
    check({"host": host}, allowed_hosts=("mac.local",))


@pytest.mark.parametrize("keys", [(), ("k",)])
@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[", ""]
)
def test_a_name_that_was_rebound_is_not(host, keys):
    with pytest.raises(Forbidden):
        check({"host": host, "x-api-key": "k"}, api_keys=keys)


@pytest.mark.parametrize("host", ["192.168.1.5:8090", "[fe80::1]:8090", "localhost:8090"])
def test_a_public_address_may_be_called_by_any_number(host):
    check({"host": host}, host="0.0.0.0")


def test_a_public_address_has_any_name_if_there_are_keys_and_none_are_listed():
    headers = {"host": "anything", "x-api-key": "k"}
    check(headers, host="0.0.0.0", api_keys=("k",))
    with pytest.raises(Forbidden, match="allowed_hosts"):
        check(headers, host="0.0.0.0")
    with pytest.raises(Forbidden, match="allowed_hosts"):
        check(headers, host="0.0.0.0", api_keys=("k",), allowed_hosts=("mine",))
    check({"host": "mine"}, host="0.0.0.0", allowed_hosts=("mine",))


# ── Origins ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "chrome-extension://abc"])
def test_pages_from_elsewhere_may_not_send(origin):
    headers = {"host": "localhost", "origin": origin}
    for method in ("POST", "DELETE", "OPTIONS", "WEBSOCKET"):
        with pytest.raises(Forbidden, match="cors_origins"):
            check(headers, method=method)
    check(headers, method="GET")
    check(headers, cors_origins=(origin,))
    check(headers, cors_origins=("*",))


def test_pages_of_this_machine_may():
    check({"host": "localhost:8090", "origin": "http://localhost:3000"})
    check({"host": "192.168.1.5", "origin": "http://192.168.1.5:3000"}, host="0.0.0.0")


def test_a_page_with_a_number_for_a_name_is_from_elsewhere_all_the_same():
    with pytest.raises(Forbidden):
        check({"host": "192.168.1.5", "origin": "http://6.6.6.6"}, host="0.0.0.0")


@pytest.mark.parametrize("origin", ["localhost:3000", "http://a.example/path", "http://*.example", ""])
def test_an_origin_that_no_browser_sends_is_refused_at_the_start(origin):
    with pytest.raises(SetupError, match="cors_origins"):
        Guard(ServerSettings(cors_origins=(origin,)))


# ── Keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer two"},
        {"authorization": "bearer two"},
        {"x-api-key": "two"},
        {"authorization": "Bearer none", "x-api-key": "two"},
    ],
)
def test_a_key_opens(headers):
    check(headers, api_keys=("one", "two"))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer tw"},
        {"authorization": "Bearer "},
        {"x-api-key": ""},
        {"authorization": "Basic two"},
        {"x-api-key": "ü"},
    ],
)
@pytest.mark.parametrize("access", ["key", "admin"])
def test_anything_else_does_not(headers, access):
    with pytest.raises(Unauthorized):
        check(headers, access=access, api_keys=("one", "two"))
    check(headers, access="open", api_keys=("one",))


@pytest.mark.parametrize("key", ["", " ", "two words", "schlüssel", "line\n"])
def test_a_key_that_no_header_can_carry_is_refused_at_the_start(key):
    with pytest.raises(SetupError, match="key 2") as refused:
        Guard(ServerSettings(api_keys=("one", key)))
    assert not key.strip() or key not in refused.value.message


# ── What touches more than one's own request ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("access", ["admin", "something nobody knows"])
def test_admin_without_keys_is_for_this_machine_alone(access):
    check({}, access=access)
    check({}, access=access, client="::ffff:127.0.0.1")
    for client in (ELSEWHERE, ""):
        with pytest.raises(Forbidden, match="API_KEYS"):
            check({}, access=access, client=client)
    check({}, access="key", client=ELSEWHERE)


def test_admin_with_a_key_is_for_whoever_has_it():
    check({"x-api-key": "k"}, access="admin", client=ELSEWHERE, api_keys=("k",))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_star_lists_no_origin_for_admin(method):
    headers = {"host": "localhost", "origin": "https://evil.example"}
    with pytest.raises(Forbidden, match="by name"):
        check(headers, method=method, access="admin", cors_origins=("*",))
    check(headers, method=method, access="admin", cors_origins=("*", "https://evil.example"))


# ── Where it may be bound ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8", "::ffff:127.0.0.1"])
def test_a_loopback_address_needs_no_key(host):
    check_exposure(ServerSettings(host=host))
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "mac.local", ""])
def test_an_address_that_others_reach_needs_a_key_or_courage(host):
    with pytest.raises(SetupError, match="--insecure-public"):
        check_exposure(ServerSettings(host=host))
    check_exposure(ServerSettings(host=host, api_keys=("k",)))
    check_exposure(ServerSettings(host=host, insecure_public=True))


# ── Over HTTP ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Routes:
    """A plugin with routes of its own."""

    @hookimpl
    def mlxp_routes(self):
        @get("/own", sync_to_thread=False)
        def own() -> str:
            return "mine"

        @get("/own/open", opt={ACCESS: "open"}, sync_to_thread=False)
        def open_to_all() -> str:
            return "everybody's"

        @delete("/own", opt={ACCESS: "admin"}, sync_to_thread=False)
        def remove() -> None:
            return None

        return [own, open_to_all, remove]


@pytest.fixture
def keyed(talk):
    """A server with two keys, a listed origin, a small limit, and a plugin with routes."""
    flags = {
        "server": {
            "port": 0,
            "api_keys": ["k1", "k2"],
            "cors_origins": ["http://app.example"],
            "body_limit_bytes": 1000,
        }
    }
    with talk(SHORT, flags=flags, more=[("routes", Routes())]) as (served, _):
        yield served.client


@pytest.mark.parametrize(
    ("method", "path", "who"),
    [
        ("POST", "/t/say", "lines"),
        ("GET", "/t/echo/x", "lines"),
        ("GET", "/t/nowhere", "lines"),
        ("GET", "/t/say", "lines"),
        ("OPTIONS", "/t/say", "lines"),
        ("POST", "/health", "state"),
        ("GET", "/nowhere", None),
        ("GET", "/own", None),
        ("DELETE", "/own", None),
        ("GET", "/schema/openapi.json", None),
    ],
)
def test_every_path_takes_a_key_whether_it_exists_or_not(keyed, method, path, who):
    refused = keyed.request(method, path, headers={"x-api-key": "k3"})
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    told = refused.json()
    assert (told["who"] if who else told["error"]["code"]) == (who or "invalid_api_key")
    allowed = keyed.request(method, path, headers={"authorization": "Bearer k2"}, json={"prompt": "x"})
    assert allowed.status_code not in {401, 403}


@pytest.mark.parametrize("stream", [True, False])
def test_a_stream_takes_a_key_too(keyed, stream):
    body = {"prompt": "x", "stream": stream}
    assert keyed.post("/t/say", json=body).status_code == 401
    assert keyed.post("/t/say", json=body, headers={"x-api-key": "k1"}).status_code == 200


def test_who_has_no_key_is_not_told_the_limit_of_a_body(keyed):
    assert keyed.post("/t/say", content=b"x" * 2000).status_code == 401
    assert keyed.post("/t/say", content=b"x" * 2000, headers={"x-api-key": "k1"}).status_code == 413


@pytest.mark.parametrize("path", ["/health", "/own/open"])
def test_what_is_marked_open_is(keyed, path):
    assert keyed.get(path).status_code == 200


def test_a_listed_page_is_told_why_it_was_refused(keyed):
    origin = {"origin": "http://app.example"}
    for answer in (keyed.post("/t/say", headers=origin), keyed.get("/nowhere", headers=origin)):
        assert answer.status_code == 401
        assert answer.headers["access-control-allow-origin"] == origin["origin"]


def test_a_browser_asks_before_it_sends_and_carries_no_key_then(keyed):
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, anthropic-version",
    }
    allowed = keyed.options("/t/say", headers={**asked, "origin": "http://app.example"})
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-origin"] == "http://app.example"
    named = allowed.headers["access-control-allow-headers"].lower()
    assert all(name in named for name in ("authorization", "content-type", "anthropic-version"))
    refused = keyed.options("/t/say", headers={**asked, "origin": "http://evil.example"})
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers


def test_a_foreign_host_is_refused_over_http(talk):
    with talk(SHORT) as (served, _):
        for path, who in (("/t/echo/x", "lines"), ("/t/nowhere", "lines"), ("/health", "state")):
            answer = served.client.get(path, headers={"host": "evil.example"})
            assert (answer.status_code, answer.json()["who"]) == (403, who)


def test_other_origins_hear_nothing_unless_listed(talk):
    origin = {"origin": "http://app.example"}
    with talk(SHORT) as (served, _):
        assert "access-control-allow-origin" not in served.client.get("/t/echo/x", headers=origin).headers
        assert served.client.post("/t/say", json={"prompt": "x"}, headers=origin).status_code == 403
    listed = {"server": {"port": 0, "cors_origins": ["http://app.example/"]}}
    with talk(SHORT, flags=listed) as (served, _):
        allowed = served.client.post("/t/say", json={"prompt": "x"}, headers=origin)
        assert allowed.headers["access-control-allow-origin"] == "http://app.example"
        assert "x-request-id" in allowed.headers["access-control-expose-headers"]


def test_an_admin_query_of_a_protocol_is_guarded(talk):
    def stopped(_request, _services):
        return WireResponse(body=b"{}")

    admin = Query(
        method="DELETE", path="/a", answer=stopped, returns=EngineStats, summary="Stop", access="admin"
    )
    protocol = WireProtocol(
        name="admin",
        endpoints=(admin,),
        render_error=lambda error: WireResponse(status=error.status, body=b""),
    )

    class Bringer:
        @hookimpl
        def mlxp_protocols(self):
            return [protocol]

    star = {"server": {"port": 0, "cors_origins": ["*"]}}
    with talk(SHORT, flags=star, more=[("admin", Bringer())]) as (served, _):
        assert served.client.delete("/a").status_code == 200
        page = {"origin": "http://evil.example"}
        assert served.client.delete("/a", headers=page).status_code == 403
        assert served.client.post("/t/say", json={"prompt": "x"}, headers=page).status_code == 200
