"""Settings as they may be shown."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from mlxp_core.contracts import SettingsSection
from mlxp_core.plugins import load_settings

MANIFOLD = "s3cr3t-7f"


class Odd(Struct, frozen=True, kw_only=True):
    access_token: str | None = None
    tokens_kept: int = 3
    endpoint: str | None = None
    words: tuple[str, ...] = ()


SECTIONS = (SettingsSection(name="odd", type=Odd, summary="Odd things."),)


def shown(path=None, environ=None, flags=None):
    settings = load_settings(path, environ or {}, flags or {}, SECTIONS)
    return {each.name: each for each in settings.in_force()}


def test_every_setting_is_there_with_its_value_and_source(tmp_path):
    path = tmp_path / "mlxp.toml"
    path.write_text("[server]\nport = 9000\n[engine]\nbatch = 2\n")
    told = shown(path, {"MLXP_ENGINE_QUEUE": "5"}, {"engine": {"batch": 3}})
    assert (bytes(told["server.port"].value), told["server.port"].layer) == (b"9000", "file")
    assert str(path) in told["server.port"].source
    assert (bytes(told["engine.batch"].value), told["engine.batch"].source) == (b"3", "--batch")
    assert (bytes(told["engine.queue"].value), told["engine.queue"].source) == (b"5", "MLXP_ENGINE_QUEUE")
    assert (bytes(told["engine.dtype"].value), told["engine.dtype"].layer) == (b'"auto"', "default")
    assert (bytes(told["odd.tokens_kept"].value), told["odd.tokens_kept"].secret) == (b"3", False)


def test_paths_are_text(tmp_path):
    told = shown(flags={"engine": {"prompt_cache_dir": str(tmp_path)}})
    assert msgspec.json.decode(told["engine.prompt_cache_dir"].value) == str(tmp_path)


@pytest.mark.parametrize(
    "flags",
    [
        {"server": {"api_keys": [MANIFOLD]}},
        {"odd": {"access_token": MANIFOLD}},
        {"odd": {"endpoint": f"https://user:{MANIFOLD}@example.org/x"}},
        {"odd": {"endpoint": f"https://{MANIFOLD}@example.org"}},
    ],
)
def test_secrets_are_not_shown(flags):
    told = shown(flags=flags)
    assert MANIFOLD.encode() not in msgspec.json.encode(list(told.values()))
    (name,) = (f"{section}.{key}" for section, table in flags.items() for key in table)
    assert told[name].secret or b"example.org" in bytes(told[name].value)


def test_what_came_from_elsewhere_is_not_shown(tmp_path):
    path = tmp_path / "mlxp.toml"
    path.write_text('[odd]\nwords = { env = "WORDS" }\n')
    told = shown(path, {"WORDS": MANIFOLD})
    assert MANIFOLD.encode() not in msgspec.json.encode(list(told.values()))
    assert told["odd.words"].secret


def test_a_secret_that_nobody_set_is_none():
    told = shown()
    assert (told["server.api_keys"].secret, bytes(told["server.api_keys"].value)) == (False, b"null")


@given(st.text(max_size=30))
def test_what_is_shown_is_json(text):
    told = shown(flags={"odd": {"words": [f"https://{text}@x/"]}})
    msgspec.json.decode(bytes(told["odd.words"].value), type=list[str])
