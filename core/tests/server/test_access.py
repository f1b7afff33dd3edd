"""Who may come in."""

import pytest

from mlxp_core.errors import Forbidden, SetupError, Unauthorized
from mlxp_core.server.access import Guard, check_exposure
from mlxp_core.types import Finished, ServerSettings, Started, Timing, Usage

SHORT = (Started("", ""), Finished("stop", Usage(), Timing()))


def check(headers, *, method="POST", path="/x", **settings):
    Guard(ServerSettings(**settings)).check(method, path, headers)


@pytest.mark.parametrize("host", ["localhost:8090", "127.0.0.1", "[::1]:80", "LOCALHOST", "mac.local:1"])
def test_this_machines_names_are_let_in(host):
    check({"host": host}, allowed_hosts=("mac.local",))


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[", ""]
)
def test_a_name_that_was_rebound_is_not(host):
    with pytest.raises(Forbidden):
        check({"host": host})


def test_a_public_address_has_any_name_unless_some_are_listed():
    check({"host": "anything"}, host="0.0.0.0")
    with pytest.raises(Forbidden):
        check({"host": "anything"}, host="0.0.0.0", allowed_hosts=("mine",))


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "chrome-extension://abc"])
def test_pages_from_elsewhere_may_not_send(origin):
    headers = {"host": "localhost", "origin": origin}
    with pytest.raises(Forbidden, match="cors_origins"):
        check(headers)
    check(headers, method="GET")
    check(headers, cors_origins=(origin,))
    check(headers, cors_origins=("*",))


def test_pages_of_this_machine_may():
    check({"host": "localhost:8090", "origin": "http://localhost:3000"})
    check({"host": "my.box", "origin": "http://my.box:3000"}, host="0.0.0.0")


@pytest.mark.parametrize(
    "headers", [{"authorization": "Bearer two"}, {"authorization": "bearer two"}, {"x-api-key": "two"}]
)
def test_a_key_opens(headers):
    check(headers, api_keys=("one", "two"))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer tw"},
        {"x-api-key": ""},
        {"authorization": "Basic two"},
        {"x-api-key": "ü"},
    ],
)
def test_anything_else_does_not(headers):
    with pytest.raises(Unauthorized):
        check(headers, api_keys=("one", "two"))
    check(headers, path="/health", api_keys=("one",))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_a_loopback_address_needs_no_key(host):
    check_exposure(ServerSettings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "mac.local", ""])
def test_an_address_that_others_reach_needs_a_key_or_courage(host):
    with pytest.raises(SetupError, match="--insecure-public"):
        check_exposure(ServerSettings(host=host))
    check_exposure(ServerSettings(host=host, api_keys=("k",)))
    check_exposure(ServerSettings(host=host, insecure_public=True))


def test_every_route_is_guarded_in_the_protocols_shape(talk):
    with talk(SHORT, flags={"server": {"port": 0, "api_keys": ["k"]}}) as (served, _):
        assert served.client.get("/health").status_code == 200
        refused = served.client.post("/t/say", json={"prompt": "x"})
        assert (refused.status_code, refused.json()["who"]) == (401, "lines")
        assert refused.headers["www-authenticate"] == "Bearer"
        assert served.client.get("/schema/openapi.json").status_code == 401
        headers = {"x-api-key": "k"}
        assert served.client.post("/t/say", json={"prompt": "x"}, headers=headers).status_code == 200


def test_a_foreign_host_is_refused_over_http(talk):
    with talk(SHORT) as (served, _):
        answer = served.client.get("/t/echo/x", headers={"host": "evil.example"})
        assert (answer.status_code, answer.json()["who"]) == (403, "lines")


def test_other_origins_hear_nothing_unless_listed(talk):
    origin = {"origin": "http://app.example"}
    with talk(SHORT) as (served, _):
        assert "access-control-allow-origin" not in served.client.get("/t/echo/x", headers=origin).headers
    listed = {"server": {"port": 0, "cors_origins": ["http://app.example"]}}
    with talk(SHORT, flags=listed) as (served, _):
        allowed = served.client.post("/t/say", json={"prompt": "x"}, headers=origin)
        assert allowed.headers["access-control-allow-origin"] == "http://app.example"
        asked = {**origin, "access-control-request-method": "POST"}
        assert served.client.options("/t/say", headers=asked).status_code == 204
