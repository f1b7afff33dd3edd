"""The folder of transcripts: within its limit, for its owner alone, and nobody's burden when it fails."""

import asyncio
import stat

import httpx
import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from mlxp_core.errors import SetupError
from mlxp_core.server.records import SUFFIX, Records, name_of, open_records
from mlxp_core.testing.client import PATIENCE_S
from mlxp_core.testing.engine import HOLD
from mlxp_core.types import (
    TRANSCRIPT_TYPE,
    Finished,
    SaidText,
    ServerSettings,
    Started,
    TextDelta,
    Timing,
    Transcript,
    Usage,
)

TOLD = Transcript(
    version="1", id="r", at_s=1000.25, protocol="p", path="/x", body=Raw(b'{"a": 1}'), model="m"
)
SIZE = len(msgspec.json.format(msgspec.json.encode(TOLD)))
SCRIPT = (Started("", ""), TextDelta("hel"), TextDelta("lo"), Finished("stop", Usage(), Timing()))


def keep(folder, *transcripts, limit_bytes=10**6):
    records = Records(folder, limit_bytes)
    for told in transcripts:
        records.keep(lambda told=told: told)
    records.close()


def kept(folder):
    return [
        msgspec.json.decode(path.read_bytes(), type=Transcript) for path in sorted(folder.glob(f"*{SUFFIX}"))
    ]


def later(count):
    return [replace(TOLD, id=f"r{number}", at_s=TOLD.at_s + number) for number in range(count)]


def test_names_sort_by_time_whatever_ids_are():
    odd = replace(TOLD, id="../../etc/passwd\n" + "x" * 300)
    assert name_of(odd).startswith("19700101T001640.250000Z-_etc_passwd_x")
    assert "/" not in name_of(odd)
    assert len(name_of(odd)) < 200
    names = [name_of(told) for told in later(100)]
    assert names == sorted(names)


def test_it_is_for_its_owner_alone(tmp_path):
    keep(tmp_path / "new" / "records", TOLD)
    [path] = (tmp_path / "new" / "records").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_oldest_go_and_a_restart_forgets_none(tmp_path):
    limit = 4 * (SIZE + 8)
    first, second = later(8)[:3], later(8)[3:]
    keep(tmp_path, *first, limit_bytes=limit)
    assert len(kept(tmp_path)) == 3
    (tmp_path / "notes.txt").write_text("somebody else's")
    keep(tmp_path, *second, limit_bytes=limit)
    assert [told.id for told in kept(tmp_path)] == ["r4", "r5", "r6", "r7"]
    assert (tmp_path / "notes.txt").exists()


def test_what_is_larger_than_all_room_is_not_kept_and_costs_no_other(tmp_path):
    large = replace(TOLD, id="large", body=Raw(msgspec.json.encode("x" * 5000)))
    keep(tmp_path, TOLD, large, limit_bytes=2000)
    assert [told.id for told in kept(tmp_path)] == ["r"]


def test_a_folder_that_fails_later_is_told_once(tmp_path, caplog):
    folder = tmp_path / "records"
    records = Records(folder, 10**6)
    folder.rmdir()
    for told in later(3):
        records.keep(lambda told=told: told)
    records.close()
    assert caplog.text.count("was not written") == 1


def test_a_folder_that_cannot_be_is_told_before_anything_is_served(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SetupError, match="records"):
        open_records(ServerSettings(records=tmp_path / "file" / "below"))
    assert open_records(ServerSettings()) is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_keeps_what_it_is_asked_and_answers(talk, tmp_path, stream):
    asked = {"prompt": "hello", "id": "mine", "stream": stream, "choices": 2}
    with talk(SCRIPT, flags={"server": {"port": 0, "records": str(tmp_path)}}) as (served, _):
        assert served.client.post("/t/say", json=asked).status_code == 200
        assert served.client.post("/t/say", json={"prompt": 7}).status_code == 400
        assert served.client.get("/t/echo/x").status_code == 200
    [told] = kept(tmp_path)
    assert (told.id, told.protocol, told.path, told.model) == ("mine", "lines", "/t/say", "sketch")
    assert msgspec.json.decode(told.body) == asked
    assert [choice.said for choice in told.choices] == [(SaidText("hello"),)] * 2
    assert told.choices[1].seed == told.seed + 1


def test_who_leaves_leaves_a_transcript_too(talk, tmp_path):
    script = (*SCRIPT[:2], HOLD)
    with talk(script, flags={"server": {"port": 0, "records": str(tmp_path)}}) as (served, told):
        with served.client.stream("POST", "/t/say", json={"prompt": "x", "stream": True}) as answer:
            next(answer.iter_bytes())
        told.wait_ended()
    [left] = kept(tmp_path)
    assert (left.choices[0].reason, left.choices[0].said) == ("cancelled", (SaidText("hel"),))


def test_a_transcript_may_be_asked_for_in_place_of_the_answer(talk):
    with talk(SCRIPT) as (served, _):
        headers = {"accept": TRANSCRIPT_TYPE}
        answer = served.client.post("/t/say", json={"prompt": "x", "stream": True}, headers=headers)
        assert answer.headers["content-type"].startswith(TRANSCRIPT_TYPE)
        told = msgspec.json.decode(answer.content, type=Transcript)
        assert told.choices[0].said == (SaidText("hello"),)
        refused = served.client.post("/t/say", json={"prompt": 7}, headers=headers)
        assert (refused.status_code, refused.json()["who"]) == (400, "lines")


def test_who_leaves_before_the_transcript_is_made_cancels(talk):
    async def leave(url, told):
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client:
            asking = asyncio.create_task(
                client.post("/t/say", json={"prompt": "x"}, headers={"accept": TRANSCRIPT_TYPE})
            )
            await asyncio.to_thread(told.wait_asked)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    with talk([HOLD]) as (served, told):
        asyncio.run(leave(str(served.client.base_url), told))
        assert told.wait_ended().reason == "cancelled"
