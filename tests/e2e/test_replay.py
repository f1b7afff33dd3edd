"""What a server kept, ``mlxp replay`` asks again: the same answers, whatever surface was asked."""

import json
import os

import httpx
import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from mlxp_core.cli.main import mlxp
from mlxp_core.types import SaidText, Transcript

HELLO = [{"role": "user", "content": "Hello"}]
USUAL = {"model": "any", "temperature": 1.2, "max_tokens": 12}
BODIES = {
    "/v1/chat/completions": {**USUAL, "messages": HELLO},
    "/v1/completions": {**USUAL, "prompt": ["Hello", "Bye"]},
    "/v1/messages": {**USUAL, "messages": HELLO, "temperature": 1.0},
    "/v1/responses": {"model": "any", "temperature": 1.2, "max_output_tokens": 12, "input": "Hello"},
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``mlxp`` away from the settings of whoever runs the tests; returns click's result."""
    for variable in [name for name in os.environ if name.startswith("MLXP_") and name != "MLXP_SHARED"]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(mlxp, list(arguments), prog_name="mlxp")


@pytest.fixture
def keeping(live, sketch, tmp_path):
    """A server that keeps transcripts, and the files of those that it kept."""
    folder = tmp_path / "kept"

    def begin(model=sketch):
        return live(model, flags={"server": {"records": str(folder)}})

    def files(count):
        found = sorted(folder.glob("*.transcript.json"))
        while len(found) < count:
            found = sorted(folder.glob("*.transcript.json"))
        return found

    begin.files = files
    return begin


def read(path):
    return msgspec.json.decode(path.read_bytes(), type=Transcript)


def test_every_surface_is_asked_again_with_the_seed_that_was_drawn(keeping, live, sketch, run):
    asked = [{**body, "stream": stream} for body in BODIES.values() for stream in (False, True)]
    paths = [path for path in BODIES for _ in (False, True)]
    with keeping() as served:
        for path, body in zip(paths, asked, strict=True):
            assert served.client.post(path, json=body).status_code == 200
        files = keeping.files(len(asked))
    told = [read(path) for path in files]
    assert [(one.path, json.loads(bytes(one.body))) for one in told] == list(zip(paths, asked, strict=True))
    assert len({one.seed for one in told}) == len(told)
    assert {one.model for one in told} == {sketch.name}
    with live(sketch) as other:
        result = run("replay", *map(str, files), "--url", other.url)
        assert result.output.count("the same") == len(files), result.output
        assert result.exit_code == 0
        assert other.engine.stats().finished == len(files) + 2  # completions have two prompts each


def test_a_difference_is_shown_and_is_the_exit_status(keeping, run, tmp_path):
    with keeping() as served:
        served.client.post("/v1/chat/completions", json={**BODIES["/v1/chat/completions"], "n": 2})
        [path] = keeping.files(1)
        told = read(path)
        first, second = told.choices
        changed = replace(first, said=(SaidText("quite\nanother"),), usage=replace(first.usage, completion=3))
        other = tmp_path / "other.json"
        other.write_bytes(msgspec.json.encode(replace(told, choices=(changed, second))))
        result = run("replay", str(path), str(other), "--url", served.url)
    assert result.exit_code == 1
    assert "the same" in result.output
    removed = [line for line in result.output.splitlines() if line.startswith("-")]
    assert removed[1:4] == [
        "-  quite",
        "-  another",
        f"-{first.usage.prompt} tokens read, 3 drawn, {first.usage.thinking} of them thinking",
    ]


def test_what_cannot_be_asked_again_says_why(keeping, run, tmp_path):
    with keeping() as served:
        served.client.post("/v1/responses", json=BODIES["/v1/responses"])
        [path] = keeping.files(1)
        gone = tmp_path / "gone.json"
        lost = {**BODIES["/v1/responses"], "previous_response_id": "resp_of_another_server"}
        gone.write_bytes(
            msgspec.json.encode(replace(read(path), body=msgspec.Raw(json.dumps(lost).encode())))
        )
        refused = run("replay", str(gone), "--url", served.url)
        url = served.url
    (tmp_path / "text.json").write_text("not a transcript")
    (tmp_path / "later.json").write_text('{"mlxp_transcript": 99}')
    for result, why in (
        (refused, "answers 404"),
        (run("replay", str(path), "--url", url), "no server answers"),
        (run("replay", "text.json", "--url", url), "it is no transcript"),
        (run("replay", "later.json", "--url", url), "of version 1, but of 99"),
        (run("replay", "nowhere.json", "--url", url), "cannot be read"),
    ):
        assert result.exit_code == 2
        assert why in result.output


def test_calls_and_stops_are_compared_too(keeping, run, puppets, tmp_path):
    markup = '<function name="weather"><param name="city">Nice</param></function>'
    folder = tmp_path / "talker"
    puppets.make("minicpm5", ["Let me see. ", markup], folder)
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    with keeping(folder) as served:
        body = {"messages": HELLO, "tools": [tool], "temperature": 0, "max_tokens": 200}
        assert served.client.post("/v1/chat/completions", json=body).status_code == 200
        [path] = keeping.files(1)
        told = read(path)
        [text, call] = told.choices[0].said
        assert (text, call.name) == (SaidText("Let me see. "), "weather")
        assert json.loads(call.arguments) == {"city": "Nice"}
        result = run("replay", str(path), "--url", served.url)
    assert told.choices[0].reason == "calls"
    assert result.exit_code == 0, result.output


def test_a_key_is_used_and_never_kept(live, sketch, run, tmp_path):
    folder = tmp_path / "kept"
    flags = {"server": {"records": str(folder), "api_keys": ("open-sesame",)}}
    with live(sketch, flags=flags) as served:
        asked = httpx.post(
            f"{served.url}/v1/completions",
            json=BODIES["/v1/completions"],
            headers={"authorization": "Bearer open-sesame"},
        )
        assert asked.status_code == 200
        while not (files := list(folder.glob("*.transcript.json"))):
            pass
        assert run("replay", str(files[0]), "--url", served.url).exit_code == 2
        assert run("replay", str(files[0]), "--url", served.url, "--key", "open-sesame").exit_code == 0
    assert b"open-sesame" not in files[0].read_bytes()
