"""The token of the hub: looked at, kept, never told."""

import stat

import pytest

from mlxp_core.testing.client import serve
from mlxp_hub.account import keep
from mlxp_hub.plugin import HubPlugin

ENDPOINT = "/api/hub/account"


@pytest.fixture
def token_file(tmp_path, monkeypatch):
    """Where programs of the hub keep the token; the user has none."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    path = tmp_path / "home" / "token"
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(path))
    return path


@pytest.fixture
def client(receiver, token_file):
    flags = {"hub": {"endpoint": receiver.url}}
    with serve([], plugins=[("hub", HubPlugin())], flags=flags) as served:
        yield served.client


def test_a_token_is_kept_where_all_programs_look_and_told_to_nobody(client, receiver, token_file):
    assert client.get(ENDPOINT).json() == {"known": False, "endpoint": receiver.url, "name": None}
    answer = client.post(ENDPOINT, json={"token": f" {receiver.token}\n"})
    assert answer.json() == {"known": True, "endpoint": receiver.url, "name": "somebody"}
    assert token_file.read_text() == receiver.token
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert list(token_file.parent.iterdir()) == [token_file]
    assert client.get(ENDPOINT).json()["known"]
    assert receiver.token not in client.get(ENDPOINT).text


@pytest.mark.parametrize(
    "body", [{"token": "other"}, {"token": ""}, {"token": "a\nb"}, {"token": "ä"}, {}, {"token": 3}, []]
)
def test_what_is_no_token_is_refused_and_not_kept(client, token_file, body):
    answer = client.post(ENDPOINT, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]
    assert not token_file.exists()


@pytest.mark.parametrize("name", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"])
def test_a_token_that_another_goes_before_is_not_kept(client, receiver, token_file, monkeypatch, name):
    monkeypatch.setenv(name, "another")
    answer = client.post(ENDPOINT, json={"token": receiver.token})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "token"
    assert not token_file.exists()


def test_what_cannot_be_put_in_place_leaves_no_token_behind(tmp_path):
    (tmp_path / "token").mkdir()
    with pytest.raises(OSError, match="token"):
        keep("secret", tmp_path / "token")
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
